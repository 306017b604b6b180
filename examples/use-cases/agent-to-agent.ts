import { NonRetryableError, type ElicitParams, type Tasks } from "holdfast";
import {
  connect,
  type InputResult,
  type RemoteTask,
  type TaskClient,
  type TaskReference,
} from "holdfast/client";
import * as z from "zod";

/** Another agent: an MCP server with a tool that takes a question, and whose calls are tasks. */
export interface Agent {
  readonly url: string;
  readonly tool: string;
}

type Answers = Record<string, InputResult>;

/** Asks other agents. Only a reference to their work is kept here, so it is as durable as it is there. */
export function addAgentToAgent(tasks: Tasks, agents: Readonly<Record<string, Agent>>): void {
  tasks.tool(
    "ask_agent",
    {
      description: "Asks another agent a question, which may take it hours. Ask several side by side",
      inputSchema: z.object({ agent: z.enum(Object.keys(agents)), question: z.string().min(1) }),
      requires: ["elicitation"], // for what the other agent asks back
      retry: { attempts: 10 }, // where the other server does not answer
    },
    async ({ agent: name, question }, task) => {
      const agent = agents[name];
      if (agent === undefined) throw new NonRetryableError(`There is no agent ${name}.`);
      const answers: Answers = {};
      let reference: TaskReference | null = null;
      try {
        // The other server recognises the key: a call that is repeated after a crash finds the task that it made before.
        const started = await task.step("start", ({ idempotencyKey }) =>
          withPeer(agent, answers, async (peer) => {
            const handle = await peer.startTool(agent.tool, { question }, { idempotencyKey });
            reference = handle.reference;
            return reference === null ? { result: await handle.result() } : { reference };
          }),
        );
        if ("result" in started) return started.result;
        reference = started.reference;
        for (let look = 0; ; look++) {
          const remote = await withPeer(agent, answers, (peer) => seen(peer, started.reference, answers));
          void task.status(`${name}: ${remote.statusMessage ?? remote.status}`);
          if (remote.status === "completed") return remote.result;
          if (remote.status === "failed")
            throw new NonRetryableError(`${name} failed: ${remote.error.message}`);
          if (remote.status === "cancelled")
            throw new NonRetryableError(`Somebody cancelled what ${name} did.`);
          if (remote.status === "working") {
            // No connection is open meanwhile: the task is a row here, and one there.
            await task.sleep(["look", look], remote.pollIntervalMs ?? 1_000);
            continue;
          }
          for (const [key, { params }] of Object.entries(remote.inputRequests))
            answers[key] ??= await task.elicit(["asks", key], params as ElicitParams);
        }
      } catch (error) {
        const mine: TaskReference | null = reference;
        if (task.cancelled && mine !== null)
          await withPeer(agent, answers, async (peer) => (await peer.resume(mine)).cancel());
        throw error;
      }
    },
  );
}

/** The state of the other server's task, after it got the answers given so far. */
async function seen(peer: TaskClient, reference: TaskReference, answers: Answers): Promise<RemoteTask> {
  const handle = await peer.resume(reference);
  for await (const remote of handle.updates()) {
    const asks = remote.status === "input_required" ? Object.keys(remote.inputRequests) : [];
    if (asks.length === 0 || asks.some((key) => !(key in answers))) return remote;
  }
  return handle.get();
}

async function withPeer<T>(
  agent: Agent,
  answers: Answers,
  use: (peer: TaskClient) => Promise<T>,
): Promise<T> {
  const peer = await connect(agent.url, {
    onInput: async ({ key }) => {
      const answer = answers[key];
      if (answer === undefined) throw new Error(`"${key}" is not answered yet.`);
      return answer;
    },
    onInputError: () => "leave_open",
  });
  try {
    return await use(peer);
  } finally {
    await peer.close();
  }
}
