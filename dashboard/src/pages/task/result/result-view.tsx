import type { JSX } from "preact";
import { Json } from "../../../parts/json.tsx";
import { Markdown } from "../../../parts/markdown/markdown.tsx";
import type { ResultPart } from "./result-parts.ts";

export function ResultView({ parts }: { readonly parts: readonly ResultPart[] }): JSX.Element {
  if (parts.length === 0) return <p class="faint">No content.</p>;
  return (
    <div class="parts">
      {parts.map((part, place) => (
        <Part key={place} part={part} />
      ))}
    </div>
  );
}

export function Part({ part }: { readonly part: ResultPart }): JSX.Element {
  switch (part.shown) {
    case "text":
      return (
        <pre class="json" tabIndex={0} aria-label={part.label}>
          {part.text}
        </pre>
      );
    case "markdown":
      return <Markdown text={part.text} label={part.label} />;
    case "image":
      return <img class="picture" src={part.src} alt={`Image (${part.mimeType})`} />;
    case "json":
      return (
        <figure class="part">
          <figcaption class="faint">{part.label}</figcaption>
          <Json value={part.value} label={part.label} />
        </figure>
      );
  }
}
