# For ~/.bashrc: eval "$(holdfast completion bash)"
_holdfast() {
  local line="${COMP_LINE:0:COMP_POINT}" word typed before=""
  typed="${line##* }"
  # Bash replaces only what is behind the last colon, as in URLs.
  [[ $typed == *:* && $COMP_WORDBREAKS == *:* ]] && before="${typed%"${typed##*:}"}"
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("${word#"$before"}")
  done < <("$1" complete-words bash "$line" 2>/dev/null)
}
complete -o default -F _holdfast holdfast
