import { setTimeout } from "node:timers/promises";
import type { NodeSummary } from "../../../admin/activity.ts";
import type { Admin } from "../../../admin/operations.ts";
import { readTimeSpan } from "./selection.ts";
import type { Context } from "../../context.ts";
import { type ExitCode, UsageError } from "../../errors.ts";
import { tasksText } from "../../output/amounts.ts";
import { Progress } from "../../terminal/text.ts";
import { withAdmin, type AdminOptions } from "./with-admin.ts";

export interface DrainCommandOptions extends AdminOptions {
  readonly within?: string;
  readonly undo?: true;
}

interface DrainCommand {
  readonly place: string;
  /** Its id, or the start of it; undefined for the only one there is. */
  readonly node: string | undefined;
  readonly options: DrainCommandOptions;
}

/** How often to look how far it is (ms). */
const lookEveryMs = 500;

/** `holdfast admin STORE drain [NODE]`: a process takes nothing new. Waits until it is empty, or has ended. */
export async function drain(
  context: Context,
  { place, node: given, options }: DrainCommand,
): Promise<ExitCode> {
  const { io, output } = context;
  const { within, undo = false } = options;
  const withinMs = within === undefined ? {} : { withinMs: readTimeSpan("--within", within) };
  return withAdmin(context, { place, options }, async ({ acts, admin }) => {
    const { id } = await findNode(admin, given);
    let node = await acts().drain(id, { ...withinMs, ...(undo && { undo }) });
    using progress = new Progress(io.stderr, !output.json);
    while (node.alive && node.draining !== null && node.draining.left !== 0) {
      await setTimeout(lookEveryMs);
      node = (await admin.nodes()).find((each) => each.id === id) ?? { ...node, alive: false };
      progress.show(reached(node));
    }
    return await output.say({ json: node, text: `${node.host ?? id}:${node.pid ?? ""} ${reached(node)}\n` });
  });
}

/** A command line has the store open, too, and sends no reports. */
async function findNode(admin: Admin, given: string | undefined): Promise<NodeSummary> {
  const nodes = (await admin.nodes()).filter(({ alive, roles }) => alive && roles.length > 0);
  const found = nodes.filter(({ id }) => given === undefined || id.startsWith(given));
  const [node] = found;
  if (node !== undefined && found.length === 1) return node;
  const list = nodes.map(({ id, host, pid }) => `${id} (process ${pid ?? "?"} on ${host ?? "?"})`).join(", ");
  if (nodes.length === 0) throw new UsageError("No process serves this store.");
  if (node === undefined)
    throw new UsageError(`No process has the id ${given}. These serve the store: ${list}.`);
  throw new UsageError(`Several processes serve this store. Give the id of one: ${list}.`);
}

function reached({ alive, draining }: NodeSummary): string {
  if (!alive) return "has ended";
  if (draining === null) return "takes work again";
  if (draining.left === 0) return "is empty: it can be stopped";
  return draining.left === null ? "has not answered yet" : `still has ${tasksText(draining.left)}`;
}
