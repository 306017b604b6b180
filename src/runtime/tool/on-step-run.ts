/** Told of each run of a step's function. */
export type OnStepRun = (taskId: string, key: string) => void;
