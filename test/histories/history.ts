import { performance } from "node:perf_hooks";

/** What a client was shown of a task. */
export interface Shown {
  /** Two methods show the end of a task in different forms: of each, every read has to be the same. */
  readonly by: "tasks/get" | "tasks/result";
  readonly text: string;
  /** Left out where the method does not say it. */
  readonly status?: string;
  readonly isFinal: boolean;
  /** The keys of the questions that are open. */
  readonly asks: readonly string[];
}

/** What was asked, and what came of it; without an `id`, `shown` or `outcome`: no answer came, or one that promises nothing. */
export type Call =
  | { readonly kind: "create"; readonly key?: string | undefined; readonly id?: string | undefined }
  | { readonly kind: "read"; readonly id: string; readonly shown?: Shown | "unknown" | undefined }
  /** Of 2026-07-28: the handler is told, and may still end the task with a result. */
  | { readonly kind: "request cancel"; readonly id: string; readonly outcome?: "acknowledged" | undefined }
  /** Of 2025-11-25. */
  | {
      readonly kind: "cancel";
      readonly id: string;
      readonly outcome?: "cancelled" | "had ended" | undefined;
    }
  /** Of a question without a deadline. */
  | {
      readonly kind: "answer";
      readonly id: string;
      readonly key: string;
      readonly outcome?: "acknowledged" | undefined;
    };

/** One request of a client. Times are of one monotonic clock, in ms. */
export interface Operation {
  readonly call: Call;
  readonly since: number;
  /** `Infinity` if no answer came: it may have taken effect at any time since then, or never. */
  readonly until: number;
}

/** What all clients asked and were told, whichever processes they asked. All of them are in this process, whose clock says what came before what. */
export class History {
  readonly operations: Operation[] = [];

  /** `told` turns the answer into what it says; it gets an error where there is none, and may say that it promises nothing. */
  async record<T>(
    asked: Call,
    send: () => Promise<T>,
    told: (answer: T) => Call,
    refused: (error: unknown) => Call = () => asked,
  ): Promise<T> {
    const since = performance.now();
    const note = (call: Call, isAnswered: boolean): void => {
      const until = isAnswered ? performance.now() : Number.POSITIVE_INFINITY;
      this.operations.push({ call, since, until });
    };
    try {
      const answer = await send();
      note(told(answer), true);
      return answer;
    } catch (error) {
      const call = refused(error);
      note(call, call !== asked);
      throw error;
    }
  }
}
