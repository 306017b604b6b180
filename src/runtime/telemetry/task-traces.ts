import type { TaskStore } from "../../store/store.ts";
import type { TraceContext } from "../../task/record.ts";

/** The trace context of a task; undefined if its request was not traced. */
export type TaskTrace = TraceContext | undefined;

const mostTasks = 10_000;

type Traces = Map<string, TaskTrace | Promise<TaskTrace>>;

/** The traces of tasks that this process recently created, ran or was asked about. */
export class TaskTraces {
  readonly #store: Pick<TaskStore, "request">;
  readonly #most: number;
  /** By task, in a newer and an older half. Finding the oldest entry of one large map gets slower with each deletion. */
  #traces: Traces = new Map();
  #older: Traces = new Map();

  constructor(store: Pick<TaskStore, "request">, most = mostTasks) {
    this.#store = store;
    this.#most = most;
  }

  keep(task: string, trace: TaskTrace | Promise<TaskTrace>): void {
    this.#traces.set(task, trace instanceof Promise ? trace : placeOf(trace));
    if (this.#traces.size <= this.#most / 2) return;
    this.#older = this.#traces;
    this.#traces = new Map();
  }

  /** Reads the trace if it is not known; never rejects. Call it only for tasks that the caller may see. */
  of(task: string): TaskTrace | Promise<TaskTrace> {
    for (const traces of [this.#traces, this.#older]) {
      if (traces.has(task)) return traces.get(task);
    }
    const reading: Promise<TaskTrace> = this.#store.request(task).then(
      (request) => {
        const trace = placeOf(request?.origin.trace);
        this.#holding(task, reading)?.set(task, trace);
        return trace;
      },
      () => {
        this.#holding(task, reading)?.delete(task); // read again for the next request
        return undefined;
      },
    );
    this.keep(task, reading);
    return reading;
  }

  /** The half that keeps a reading, unless there is a newer one. */
  #holding(task: string, reading: Promise<TaskTrace>): Traces | undefined {
    return [this.#traces, this.#older].find((traces) => traces.get(task) === reading);
  }
}

/** Without its baggage, which is for handlers, and which callers may make long. */
function placeOf(trace: TaskTrace): TaskTrace {
  if (trace?.baggage === undefined) return trace;
  const { traceparent, tracestate } = trace;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}
