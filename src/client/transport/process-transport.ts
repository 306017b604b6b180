import type { ChildProcess } from "node:child_process";
import {
  ReadBuffer,
  SdkError,
  SdkErrorCode,
  serializeMessage,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment } from "@modelcontextprotocol/client/stdio";
import spawn from "cross-spawn";
import type { ClientClock } from "../clock.ts";
import { ProcessGroup } from "./process-group.ts";
import { environmentOf, type ServerProcess } from "./server-process.ts";

/** The longest line in bytes. Results come in one line, so this only stops a server that never ends it. */
const longestLine = 256 * 2 ** 20;

/** A stdio transport that ends the process with everything it started; the SDK's ends only the process itself. */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  readonly #server: ServerProcess;
  readonly #clock: ClientClock;
  readonly #buffer = new ReadBuffer({ maxBufferSize: longestLine });
  #child: ChildProcess | undefined;
  #group: ProcessGroup | undefined;
  #closing: Promise<void> | undefined;

  constructor(server: ServerProcess, clock: ClientClock) {
    this.#server = server;
    this.#clock = clock;
  }

  async start(): Promise<void> {
    const { command, args = [], env = {}, cwd, stderr = "inherit" } = this.#server;
    const child = spawn(command, args, {
      ...ProcessGroup.spawnOptions,
      env: environmentOf(env, getDefaultEnvironment()),
      stdio: ["pipe", "pipe", typeof stderr === "function" ? "pipe" : stderr],
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    });
    this.#child = child;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onError = (error: Error): void => this.onerror?.(error);
    child.on("error", (error) => {
      reject(error);
      onError(error);
    });
    child.on("spawn", () => resolve());
    child.on("close", () => {
      this.#child = undefined;
      this.onclose?.();
      void this.close(); // its descendants may still run
    });
    child.stdin?.on("error", onError);
    child.stdout?.on("error", onError);
    child.stdout?.on("data", (bytes: Buffer) => this.#read(bytes));
    if (typeof stderr === "function") {
      const decoder = new TextDecoder();
      child.stderr?.on("data", (bytes: Uint8Array) => stderr(decoder.decode(bytes, { stream: true })));
    }
    await promise;
    this.#group = new ProcessGroup(child, this.#clock);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin == null) throw new SdkError(SdkErrorCode.NotConnected, "Not connected");
    if (stdin.write(serializeMessage(message))) return;
    await new Promise<void>((resolve) => {
      stdin.once("drain", resolve);
      stdin.once("close", resolve);
    });
  }

  /** Resolves when the processes have ended, or survived SIGKILL. They no longer keep this process alive then. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#end());
  }

  async #end(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    child?.stdin?.end();
    await this.#group?.end();
    // A descendant that left the group can hold the pipes open.
    for (const pipe of [child?.stdin, child?.stdout, child?.stderr]) pipe?.destroy();
    child?.unref();
    this.#buffer.clear();
  }

  #read(bytes: Buffer): void {
    try {
      this.#buffer.append(bytes);
    } catch (error) {
      this.#fault(error);
      void this.close();
      return;
    }
    for (;;) {
      try {
        const message = this.#buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.#fault(error);
      }
    }
  }

  #fault(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }
}
