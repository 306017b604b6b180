import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { lstat, mkdtemp, rm } from "node:fs/promises";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { TaskClientError } from "../../client/task-client-error.ts";
import type { ServerProcess } from "../../client/transport/process-transport.ts";
import { deliverMessages, LineBuffer } from "../../client/transport/wire-messages.ts";
import { isJsonObject, type JsonObject } from "../../generation/message.ts";
import type { Records } from "../state/records.ts";
import { UsageError } from "../errors.ts";
import type { FoundServer } from "../server/find-server.ts";
import { keepsSession, type Greeting, type SessionAddress, type SessionSetup } from "./session-messages.ts";

/**
 * A session that `holdfast open` has opened: a server's process that lives on between commands, or, for a server over HTTP, which has no
 * `address`, its session of the protocol.
 */
export interface OpenSession {
  /** With its `@`. */
  readonly name: string;
  readonly address: SessionAddress | null;
  /** The version of the protocol that its handshake has agreed on. */
  readonly protocolVersion: string;
  /** The server, without what starts it. */
  readonly server: Pick<FoundServer, "spec" | "name" | "shown" | "isTyped" | "isUsers">;
}

interface StartOptions {
  readonly target: ServerProcess;
  readonly name: string;
  readonly idleMs: number;
  readonly terminal: number | null;
  /** The file of this program. */
  readonly program: string;
}

/** The sessions of this user, with how to reach their processes. Only this user can read that, and connect to a socket. */
export class OpenSessions {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async list(): Promise<readonly OpenSession[]> {
    const names = this.#records.all("session").map(({ name }) => String(name));
    const all = await Promise.all(names.map(async (name) => this.find(name)));
    return all.filter((session) => session !== undefined);
  }

  /** The session of that name. One whose process is gone is forgotten. */
  async find(name: string): Promise<OpenSession | undefined> {
    const record = this.#records.get("session", name);
    const session = record && read(record);
    if (session === undefined || session.address === null) return session;
    if (await isThere(session.address)) return session;
    this.forget(name);
    return undefined;
  }

  /** The session in which that server runs, by the server's name in references. */
  async ofServer(server: string): Promise<OpenSession | undefined> {
    return (await this.list()).find((session) => session.server.name === server);
  }

  /** Starts the process of a session. Rejects with a TaskClientError if the server does not start. */
  async start({ target, name, idleMs, terminal, program }: StartOptions): Promise<SessionAddress> {
    const token = randomBytes(24).toString("base64url");
    const isWindows = process.platform === "win32";
    // The names of sockets have to be short, and folders of mkdtemp belong to this user alone.
    const folder = isWindows ? null : await mkdtemp(join(tmpdir(), "holdfast-"));
    const socket =
      folder === null
        ? `\\\\.\\pipe\\holdfast-${randomBytes(18).toString("base64url")}`
        : join(folder, "socket");
    const { command, args, cwd, env } = target;
    const started = {
      command,
      ...(args && { args }),
      ...(cwd !== undefined && { cwd }),
      ...(env && { env }),
    };
    const { file } = this.#records;
    await startProcess(program, {
      target: started,
      socket,
      state: { file, name },
      folder,
      token,
      idleMs,
      terminal,
    });
    return { name, socket, token };
  }

  /** Records a new session. Throws a UsageError if another command has opened one of that name. */
  add(session: OpenSession): void {
    if (!this.#records.add("session", session.name, session)) throw isOpen(session.name);
  }

  /** Records more of a session. */
  keep(session: OpenSession): void {
    this.#records.set("session", session.name, session);
  }

  /** Ends the process of a session, which forgets its record; resolves once its server has ended. */
  async close(address: SessionAddress): Promise<void> {
    try {
      const socket = await greet(address, { token: address.token, close: true });
      socket.resume();
      await once(socket, "close");
    } catch {
      // It was gone already. Whoever looks for it forgets it.
    }
  }

  /** Forgets a session, and leaves its process, if there is one. */
  forget(name: string): void {
    this.#records.remove("session", name);
  }
}

export function isOpen(name: string): UsageError {
  return new UsageError(`The session ${name} is open. To end it, use holdfast close ${name}`);
}

export function isSessionName(name: string): boolean {
  return /^@[a-z\d][\w-]{0,63}$/i.test(name);
}

function read(session: JsonObject): OpenSession | undefined {
  const { name, address, protocolVersion, server } = session;
  const areTexts = typeof name === "string" && typeof protocolVersion === "string";
  const isSession = areTexts && (address === null || isJsonObject(address)) && isJsonObject(server);
  return isSession ? (session as unknown as OpenSession) : undefined;
}

async function startProcess(program: string, setup: SessionSetup): Promise<void> {
  const child = spawn(process.execPath, [program, keepsSession], {
    detached: true, // from the terminal, whose Ctrl-C is for a command
    stdio: ["pipe", "pipe", "ignore"],
    windowsHide: true,
  });
  child.on("error", () => undefined); // its stdout ends then, as at any other end
  child.stdin.on("error", () => undefined);
  child.stdin.end(JSON.stringify(setup));
  let said = "";
  for await (const piece of child.stdout.setEncoding("utf8")) {
    said += String(piece);
    if (said.endsWith("\n")) break; // which destroys the stream
  }
  child.unref();
  if (said.startsWith('{"ready":true}')) return;
  if (setup.folder !== null) await rm(setup.folder, { recursive: true, force: true });
  const answer: unknown = said.endsWith("\n") ? JSON.parse(said) : {};
  const problem = isJsonObject(answer) ? answer["problem"] : undefined;
  throw new TaskClientError(
    "connection",
    `The server did not start: ${typeof problem === "string" ? problem : "its session ended"}`,
  );
}

async function isThere(address: SessionAddress): Promise<boolean> {
  try {
    (await connect(address)).destroy();
    return true;
  } catch {
    return false;
  }
}

/** Rejects if nobody listens, or if it might be someone else: whoever listens is told the token and the arguments of calls. */
async function connect({ socket: path }: SessionAddress): Promise<Socket> {
  if (process.platform !== "win32") await refuseOthers(path);
  const socket = createConnection(path);
  await once(socket, "connect");
  return socket;
}

/**
 * A record outlives its folder when the machine restarts or its folder for temporary files is cleaned, and then everyone can make one with that
 * name. One that is this user's and open to nobody else cannot be replaced by others.
 */
async function refuseOthers(socket: string): Promise<void> {
  const own = process.geteuid?.();
  const [folder, file] = await Promise.all([lstat(dirname(socket)), lstat(socket)]);
  const isClosed = folder.isDirectory() && folder.uid === own && (folder.mode & 0o077) === 0;
  if (!isClosed || !file.isSocket() || file.uid !== own)
    throw new TaskClientError("connection", "The socket of the session may be of another user");
}

async function greet(address: SessionAddress, greeting: Greeting): Promise<Socket> {
  const socket = await connect(address);
  socket.on("error", () => undefined); // it closes then
  socket.write(`${JSON.stringify(greeting)}\n`);
  return socket;
}

/** The connection of one command to the server of a session. */
export class SessionTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  /** What the server wrote last to its stderr, if it has ended. */
  log = "";
  readonly #address: SessionAddress;
  readonly #lines = new LineBuffer(256 * 1024 ** 2);
  #socket: Socket | undefined;

  constructor(address: SessionAddress) {
    this.#address = address;
  }

  async start(): Promise<void> {
    const { name, token } = this.#address;
    const socket = await greet(this.#address, { token }).catch((cause: unknown) => {
      const message = `The session ${name} has ended. To open it again, use holdfast open`;
      throw new TaskClientError("connection", message, { cause });
    });
    this.#socket = socket;
    socket.on("data", (bytes: Buffer) => {
      for (const line of this.#lines.after(bytes)) this.#deliver(line);
    });
    socket.on("close", () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed)
      throw new TaskClientError("connection", "The session has ended");
    if (!socket.write(`${JSON.stringify(message)}\n`))
      await Promise.race([once(socket, "drain"), once(socket, "close")]);
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined || socket.destroyed) return;
    socket.end();
    await once(socket, "close");
  }

  #deliver(line: string): void {
    if (line.startsWith('{"ended":')) {
      this.log = (JSON.parse(line) as { readonly ended: string }).ended;
      return;
    }
    deliverMessages(
      line,
      (message) => this.onmessage?.(message),
      (error) => this.onerror?.(error),
    );
  }
}
