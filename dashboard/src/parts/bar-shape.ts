/** At most as many numbers as a chart has bars: each bar is the sum of the same number of neighbours, except perhaps the first. */
export function atMost(bars: number, numbers: readonly number[]): readonly number[] {
  const each = Math.ceil(numbers.length / bars);
  if (each <= 1) return numbers;
  const sums: number[] = [];
  for (let end = numbers.length; end > 0; end -= each)
    sums.unshift(numbers.slice(Math.max(0, end - each), end).reduce((sum, number) => sum + number, 0));
  return sums;
}

/** The path (`d`) of bars that are 3 wide with their gap. A zero is drawn as a line, to show that it was counted. */
export function barsPath(numbers: readonly number[], height: number): string {
  const most = Math.max(1, ...numbers);
  return numbers
    .map((number, place) => {
      const tall = number === 0 ? 1 : Math.max(2, Math.round((number / most) * height));
      return `M${place * 3} ${height}v${-tall}h2v${tall}z`;
    })
    .join("");
}
