# What a shell needs for messages is echo and read; the values must be valid JSON.
echo '{"status": "Looks for a compiler"}' >&3
[ "$1" = debug ] || { echo "no compiler for $1" >&2; exit 3; }
for step in 1 2 3; do
  echo "{\"progress\": $step, \"total\": 3}" >&3
  echo "step $step of the $1 build"
done
