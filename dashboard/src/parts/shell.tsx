import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { OperatorRole } from "../../../src/admin/roles.ts";
import { logOut, may } from "../api/session.ts";
import { useServices } from "../api/services.ts";
import { Link } from "../routing/link.tsx";
import { ThemeButton } from "./theme.tsx";
import { Notices, notify } from "./notices.tsx";

const pages = [
  ["/", "Tasks"],
  ["/tools", "Tools"],
  ["/nodes", "Nodes"],
  ["/refusals", "Refusals"],
  ["/actions", "Actions"],
] as const;

const abilities: Readonly<Record<OperatorRole, string>> = {
  view: "Can see which tasks there are, without their arguments, results and texts",
  read: "Can see everything but change nothing",
  act: "Can see everything and act on tasks, but delete nothing",
  admin: "Can see and change everything",
};

/** The frame of every page. */
export function Shell({
  path,
  children,
}: {
  readonly path: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { base, session } = useServices();
  const here = path.startsWith("/tasks/") ? "/" : path;
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  useEffect(() => {
    // The followed link is gone: move the focus to the page that it led to, for keyboards and screen readers.
    if (path !== shown.current) main.current?.focus({ preventScroll: true });
    shown.current = path;
  }, [path]);
  const leave = (): void =>
    void logOut(base).catch((error: unknown) =>
      notify(`You are still logged in. ${error instanceof Error ? error.message : String(error)}`, true),
    );
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <Link to="/" class="brand">
          Holdfast
        </Link>
        <nav aria-label="Pages">
          {pages.map(([to, name]) => (
            <Link key={to} to={to} current={to === here}>
              {name}
            </Link>
          ))}
        </nav>
        <div class="who">
          <LiveSign />
          <span class="actor" title={abilities[session.role]}>
            {session.actor}
            {!may(session, "act") && ` (${session.role} only)`}
          </span>
          <ThemeButton />
          <button type="button" class="quiet" onClick={leave}>
            Log out
          </button>
        </div>
      </header>
      <main ref={main} id="main" tabIndex={-1}>
        {children}
      </main>
      <Notices />
    </>
  );
}

/** Whether the page is live. */
function LiveSign(): JSX.Element {
  const { feed } = useServices();
  const [isLive, setLive] = useState(feed.isLive);
  useEffect(() => {
    setLive(feed.isLive);
    return feed.onLive(setLive);
  }, [feed]);
  return (
    <span class={isLive ? "live" : "live away"} role="status">
      {isLive ? "Live" : "Connecting"}
    </span>
  );
}
