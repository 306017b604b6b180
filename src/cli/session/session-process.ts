import { once } from "node:events";
import { chmod, rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { systemClock } from "../../client/clock.ts";
import { LineBuffer } from "../../client/transport/wire-messages.ts";
import { connectionTo } from "../../client/transport/server-connection.ts";
import { isJsonObject } from "../../generation/message.ts";
import type { Io } from "../io.ts";
import { exitCodes, type ExitCode } from "../exit-code.ts";
import { Records } from "../state/records.ts";
import type { Ending, SessionSetup } from "./session-messages.ts";
import { SharedConnection } from "./shared-connection.ts";

const maxAnswerBytes = 256 * 1024 ** 2;
const maxLogCharacters = 4_000;
/** How often to look whether the terminal is still there. */
const lookMs = 2_000;

/** Starts the server, and passes messages on between it and commands until the session ends. Says on stdout when it is ready, or why not. */
export async function keepSession({ stdin, stdout }: Io): Promise<ExitCode> {
  const setup = JSON.parse(await text(stdin)) as SessionSetup;
  stdout.on("error", () => undefined); // the command that started it does not wait for the end
  let log = "";
  const stderr = (piece: string): void => void (log = (log + piece).slice(-maxLogCharacters));
  const { transport, bounds } = connectionTo({ ...setup.target, stderr }, { maxAnswerBytes }, systemClock);
  const ended = Promise.withResolvers<void>();
  const shared = new SharedConnection((message) => void transport.send(message).catch(() => undefined));
  transport.onmessage = (message: JSONRPCMessage) => shared.fromServer(message);
  transport.onclose = () => ended.resolve();
  const sockets = new Set<Socket>();
  let idle = systemClock.deadline(setup.idleMs);
  let isOver = false;
  const watchIdle = (): void => {
    idle.clear();
    if (isOver) return; // a timer would keep the process
    idle = systemClock.deadline(setup.idleMs);
    idle.signal.addEventListener("abort", () => void (shared.isUsed || ended.resolve()), { once: true });
  };
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      watchIdle();
    });
    serveCommand(socket, setup.token, shared, ended.resolve);
  });
  try {
    await transport.start();
    bounds?.handshakeEnded();
    listener.listen(setup.socket);
    await once(listener, "listening");
    if (setup.folder !== null) await chmod(setup.socket, 0o600);
    watchIdle();
    stdout.write('{"ready":true}\n');
    const stop = new AbortController();
    if (setup.terminal !== null)
      void untilGone(setup.terminal, stop.signal).then(ended.resolve, () => undefined);
    process.once("SIGTERM", () => ended.resolve());
    await ended.promise;
    stop.abort();
  } catch (error) {
    stdout.write(`${JSON.stringify({ problem: error instanceof Error ? error.message : String(error) })}\n`);
  } finally {
    isOver = true;
    idle.clear();
    listener.close();
    await transport.close();
    await removeFiles(setup);
    // Whoever has asked for the end learns that all has ended.
    const last = `${JSON.stringify({ ended: log } satisfies Ending)}\n`;
    for (const socket of sockets) socket.end(last, () => void socket.destroy());
  }
  return exitCodes.done;
}

function serveCommand(socket: Socket, token: string, shared: SharedConnection, end: () => void): void {
  const peer = (message: JSONRPCMessage): void => void socket.write(`${JSON.stringify(message)}\n`);
  let isKnown = false;
  socket.on("error", () => undefined);
  const lines = new LineBuffer(maxAnswerBytes);
  const take = (line: string): void => {
    const message: unknown = JSON.parse(line);
    if (!isJsonObject(message) || !(isKnown || message["token"] === token)) throw new TypeError("no command");
    if (isKnown) return shared.fromPeer(peer, message as unknown as JSONRPCMessage);
    isKnown = true;
    if (message["close"] === true) end();
    else shared.attach(peer);
  };
  socket.on("data", (bytes) => {
    try {
      for (const line of lines.after(bytes)) take(line);
    } catch {
      socket.destroy(); // it is no command of ours
    }
  });
  socket.on("close", () => shared.detach(peer));
}

async function untilGone(pid: number, signal: AbortSignal): Promise<void> {
  for (;;) {
    await systemClock.sleep(lookMs, signal);
    try {
      process.kill(pid, 0);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ESRCH") return;
    }
  }
}

/** Another session of that name may have been opened in the meantime. */
async function removeFiles({ state, token, folder }: SessionSetup): Promise<void> {
  try {
    const records = new Records(state.file);
    const address = records.get("session", state.name)?.["address"];
    if (isJsonObject(address) && address["token"] === token) records.remove("session", state.name);
  } catch {
    // The next command forgets it.
  }
  if (folder !== null) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
}
