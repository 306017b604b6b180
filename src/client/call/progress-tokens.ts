import type { JSONRPCNotification, Progress } from "@modelcontextprotocol/client";
import { isJsonObject } from "../../generation/json-object.ts";

export type OnProgress = (progress: Progress) => unknown;

/** A call that is reported on. */
export interface ProgressReports {
  readonly token: string;
  stop(): void;
}

const tokenPrefix = "holdfast-progress-";

/**
 * Brings progress notifications to the calls that they are about. A token is good for as long as its call or task
 * lives: an answer that makes a task does not end it (C-105, C-108).
 */
export class ProgressTokens {
  readonly #takers = new Map<string, OnProgress>();
  readonly #onError: (error: unknown) => void;
  #count = 0;

  /** `onError` takes what a caller's function throws or rejects with: it is to disturb nobody else. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  open(onProgress: OnProgress): ProgressReports {
    const token = `${tokenPrefix}${++this.#count}`;
    this.#takers.set(token, onProgress);
    return { token, stop: () => void this.#takers.delete(token) };
  }

  /** Whether the notification is about a call of ours; a late one is too. */
  take({ method, params }: JSONRPCNotification): boolean {
    if (method !== "notifications/progress") return false;
    const token = params?.["progressToken"];
    if (typeof token !== "string" || !token.startsWith(tokenPrefix)) return false;
    const progress = readProgress(params);
    const taker = this.#takers.get(token);
    if (progress !== undefined && taker !== undefined) this.#tell(taker, progress);
    return true;
  }

  #tell(taker: OnProgress, progress: Progress): void {
    try {
      const told = taker(progress);
      if (told instanceof Promise) told.catch((error: unknown) => this.#onError(error));
    } catch (error) {
      this.#onError(error);
    }
  }
}

function readProgress(params: unknown): Progress | undefined {
  if (!isJsonObject(params) || typeof params["progress"] !== "number") return undefined;
  const { progress, total, message } = params;
  return {
    progress,
    ...(typeof total === "number" && { total }),
    ...(typeof message === "string" && { message }),
  };
}
