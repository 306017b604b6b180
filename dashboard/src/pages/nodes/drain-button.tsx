import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeSummary } from "../../../../src/admin/activity.ts";
import { useServices } from "../../api/services.ts";
import { may } from "../../api/session.ts";
import { attempt } from "../../parts/notices.tsx";
import { nameOf } from "./node-state.ts";

interface DrainButtonProps {
  readonly node: NodeSummary;
  readonly onChange: () => void;
}

/** Lets a process take nothing new, or take work again. Command lines take none. */
export function DrainButton({ node, onChange }: DrainButtonProps): JSX.Element | null {
  const { admin, session } = useServices();
  const [isBusy, setBusy] = useState(false);
  const { id, alive, roles, draining } = node;
  if (!may(session, "admin") || !alive || roles.length === 0) return null;
  const name = nameOf(node) || id;
  const undo = draining !== null;
  const act = async (): Promise<void> => {
    setBusy(true);
    await attempt(
      () => admin.as(session.actor).drain(id, { undo }),
      undo
        ? `${name} takes work again.`
        : `${name} takes nothing new, and finishes or hands over what it has. When it is empty, it can be stopped.`,
    );
    setBusy(false);
    onChange();
  };
  return (
    <button
      type="button"
      class="quiet"
      disabled={isBusy}
      aria-label={undo ? `Let ${name} take work again` : `Drain ${name}`}
      onClick={() => void act()}
    >
      {undo ? "Undo" : "Drain"}
    </button>
  );
}
