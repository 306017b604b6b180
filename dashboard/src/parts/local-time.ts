/** A time in the format of date fields: in the browser's time zone, without naming it. */
export function localTimeText(at: number): string {
  const time = new Date(at);
  const date = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()];
  return `${twoDigits(date).join("-")}T${twoDigits(clock).join(":")}`;
}

/** The time (epoch ms) in such a field; undefined for none. */
export function localTimeIn(text: string): number | undefined {
  const at = new Date(text).getTime();
  return text === "" || Number.isNaN(at) ? undefined : at;
}

function twoDigits(numbers: readonly number[]): readonly string[] {
  return numbers.map((number) => String(number).padStart(2, "0"));
}
