# For ~/.config/fish/completions/holdfast.fish
complete -c holdfast -f -a '(holdfast complete-words fish (commandline -cp | string collect); or __fish_complete_path (commandline -ct))'
