throw new Error("The module is broken.");

export function never(): void {}
