#!/bin/sh
# program.sh FOLDER NAME LINES CODE: prints so many lines, and notes when it began, when another one of its name ran at the same time, and that its
# child lives.
folder=$1 name=$2 lines=$3 code=$4
echo "$$" >> "$folder/$name.begun"
mkdir "$folder/$name.lock" 2>/dev/null || echo "$$" >> "$folder/$name.overlap"
sleep 1000 &
echo "$!" >> "$folder/$name.children"
trap 'rmdir "$folder/$name.lock"; exit 143' TERM
n=1
while [ "$n" -le "$lines" ]; do
  echo "line $n"
  echo "error $n" >&2
  sleep 0.02
  n=$((n + 1))
done
rmdir "$folder/$name.lock"
exit "$code"
