/** Tells the test something, as a line of JSON. */
export function tell(told: object): void {
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
