import type { ComponentChildren, JSX, TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** So far from the end counts as at the end: browsers scroll by parts of pixels. */
const nearEnd = 8;

/** Lines that grow at their end, which stays in sight unless the reader went up. */
export function Lines({
  label,
  count,
  children,
}: {
  readonly label: string;
  /** Of the newest line: it moves on with each. */
  readonly count: unknown;
  readonly children: ComponentChildren;
}): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useLayoutEffect(() => {
    const { current } = box;
    if (current !== null && follows.current) current.scrollTop = current.scrollHeight;
  }, [count]);
  const scroll = ({ currentTarget: at }: TargetedEvent<HTMLDivElement>): void => {
    follows.current = at.scrollHeight - at.clientHeight - at.scrollTop <= nearEnd;
  };
  return (
    <div ref={box} class="lines" role="log" aria-label={label} tabIndex={0} onScroll={scroll}>
      {children}
    </div>
  );
}
