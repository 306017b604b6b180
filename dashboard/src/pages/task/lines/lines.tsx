import type { ComponentChildren, JSX, TargetedEvent } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/** Up to this far from the end counts as the end: browsers scroll by fractions of pixels. */
const nearEnd = 8;

/** Growing lines, scrolled to the end unless the reader scrolled up. */
export function Lines({
  label,
  count,
  children,
}: {
  readonly label: string;
  /** The newest line, which changes with each. */
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
