import type { Tasks } from "holdfast";
import * as z from "zod";

/** A system in which new colleagues are set up, such as a directory or a payroll. */
export interface System {
  readonly name: string;
  /** Gives a person an account. The same key again means the same account. */
  grant(key: string, account: Account): Promise<void>;
  /** Revokes what was granted under the key; does nothing if nothing was. */
  revoke(key: string): Promise<void>;
}

export interface Account {
  readonly person: string;
  readonly role: string;
  readonly approvedBy: string;
}

const day = 24 * 3_600_000;

const roles = ["engineer", "manager", "auditor"] as const;

/** Sets people up in several systems, in order: in all of them, or in none. */
export function addOnboarding(tasks: Tasks, systems: readonly System[]): void {
  tasks.tool(
    "onboard",
    {
      description: "Gives a new colleague accounts in all systems, once somebody has approved it",
      inputSchema: z.object({ person: z.string().min(1), role: z.enum(roles) }),
      outputSchema: z.object({
        status: z.string(),
        approvedBy: z.string().optional(),
        comment: z.string().optional(),
      }),
      requires: ["elicitation"],
    },
    async ({ person, role: wanted }, task) => {
      const names = systems.map(({ name }) => name).join(", ");
      const answer = await task.elicit(
        "approve",
        {
          message: `${task.caller.principal ?? "Somebody"} asks for accounts of ${person} in: ${names}.`,
          requestedSchema: z.object({
            approver: z.string().min(1).meta({ title: "Who approves it" }),
            role: z.enum(roles).meta({ title: "Role" }).default(wanted),
            comment: z.string().meta({ title: "Comment" }).optional(),
          }),
        },
        { timeoutMs: day },
      );
      if (answer.action !== "accept") {
        await task.log("notice", `Not approved: ${answer.action}`);
        return outcome({ status: `${person} was not set up: the request was not approved.` });
      }
      const { approver, role, comment } = answer.content;
      await task.log("notice", `Approved by ${approver}`, { role, comment });

      const keyOf = (system: System): string => `${task.id}/${system.name}`;
      const begun: System[] = [];
      try {
        for (const system of systems) {
          begun.push(system);
          const account = { person, role, approvedBy: approver };
          await task.step(["grant", system.name], { retries: 2 }, () => system.grant(keyOf(system), account));
          await task.log("info", `${system.name}: granted`);
          task.progress(begun.length, systems.length, `${system.name} is set up`);
        }
      } catch (error) {
        // The one that failed, too: an error does not mean that nothing was granted.
        for (const system of begun.toReversed()) {
          const revoke = (): Promise<void> => system.revoke(keyOf(system));
          await task
            .step(["revoke", system.name], { retries: Infinity }, revoke)
            .catch(async (reason: unknown) => {
              if (!task.cancelled) throw reason;
              // Nothing more is journalled of a task that was cancelled. If the server dies here, the next one calls all of them again.
              await revoke();
            });
          if (!task.cancelled) await task.log("warning", `${system.name}: revoked`);
        }
        throw error;
      }
      return outcome({
        status: `${person} is set up as ${role} in: ${names}.`,
        approvedBy: approver,
        comment,
      });
    },
  );
}

interface Outcome {
  readonly status: string;
  readonly approvedBy?: string;
  readonly comment?: string | undefined;
}

function outcome(structured: Outcome): {
  content: [{ type: "text"; text: string }];
  structuredContent: { [key: string]: unknown };
} {
  return { content: [{ type: "text", text: structured.status }], structuredContent: { ...structured } };
}
