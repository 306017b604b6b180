import type { JSONRPCNotification, Progress } from "@modelcontextprotocol/client";
import { isJsonObject } from "../../generation/message.ts";

export type OnProgress = (progress: Progress) => unknown;

/** The progress reports of one call. */
export interface ProgressReports {
  readonly token: string;
  stop(): void;
  /** The call became a task: they go on until it has ended. */
  followTask(taskId: string): void;
}

const tokenPrefix = "holdfast-progress-";

/**
 * Passes progress notifications to their calls. A token is valid until its call, or the task of the call, has ended
 * (C-105, C-108).
 */
export class ProgressTokens {
  readonly #callbacks = new Map<string, OnProgress>();
  /** By task id. */
  readonly #tokens = new Map<string, string>();
  readonly #onError: (error: unknown) => void;
  #count = 0;

  /** `onError` is called with what a progress callback throws or rejects with. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  open(onProgress: OnProgress): ProgressReports {
    const token = `${tokenPrefix}${++this.#count}`;
    this.#callbacks.set(token, onProgress);
    return {
      token,
      stop: () => void this.#callbacks.delete(token),
      followTask: (taskId) => void this.#tokens.set(taskId, token),
    };
  }

  taskEnded(taskId: string): void {
    const token = this.#tokens.get(taskId);
    this.#tokens.delete(taskId);
    if (token !== undefined) this.#callbacks.delete(token);
  }

  /** Returns whether the notification is about a call of this client, also if it comes late. */
  handle({ method, params }: JSONRPCNotification): boolean {
    if (method !== "notifications/progress") return false;
    const token = params?.["progressToken"];
    if (typeof token !== "string" || !token.startsWith(tokenPrefix)) return false;
    const progress = readProgress(params);
    const callback = this.#callbacks.get(token);
    if (progress !== undefined && callback !== undefined) this.#report(callback, progress);
    return true;
  }

  #report(callback: OnProgress, progress: Progress): void {
    try {
      const returned = callback(progress);
      if (returned instanceof Promise) returned.catch((error: unknown) => this.#onError(error));
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
