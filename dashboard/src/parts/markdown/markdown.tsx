import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { OuterLink } from "../../routing/outer-link.tsx";
import { blocksIn, spansIn, type Block, type Span } from "./blocks.ts";

/** A text as the Markdown that it is, or as it was written. */
export function Markdown({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const [isSource, setSource] = useState(false);
  const blocks = useMemo(() => blocksIn(text), [text]);
  return (
    <figure class="part">
      <figcaption class="faint">
        {label}{" "}
        <button type="button" class="quiet small" onClick={() => setSource(!isSource)}>
          {isSource ? "Show formatted" : "Show source"}
        </button>
      </figcaption>
      {isSource ? (
        <pre class="json" tabIndex={0} aria-label={label}>
          {text}
        </pre>
      ) : (
        <div class="markdown" tabIndex={0} role="group" aria-label={label}>
          {shownBlocks(blocks)}
        </div>
      )}
    </figure>
  );
}

/** Headings are below that of the section, and leave out no level, whatever the text does. */
function shownBlocks(blocks: readonly Block[]): JSX.Element[] {
  let last = 2;
  const show = (block: Block): JSX.Element => {
    switch (block.is) {
      case "heading": {
        last = Math.min(block.level + 2, last + 1, 6);
        const Heading = `h${last}` as "h3" | "h4" | "h5" | "h6";
        return <Heading>{shownSpans(spansIn(block.text))}</Heading>;
      }
      case "paragraph":
        return <p>{shownSpans(spansIn(block.text))}</p>;
      case "code":
        return <pre>{block.text}</pre>;
      case "quote":
        return <blockquote>{block.blocks.map(show)}</blockquote>;
      case "list": {
        const items = block.items.map((item, place) => <li key={place}>{item.map(show)}</li>);
        return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
      }
      case "table":
        return <Table head={block.head} rows={block.rows} />;
      case "rule":
        return <hr />;
    }
  };
  return blocks.map(show);
}

function Table({
  head,
  rows,
}: {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}): JSX.Element {
  return (
    <div class="scroll" role="group" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((cell, place) => (
              <th key={place} scope="col">
                {shownSpans(spansIn(cell))}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, place) => (
            <tr key={place}>
              {row.map((cell, column) => (
                <td key={column}>{shownSpans(spansIn(cell))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function shownSpans(spans: readonly Span[]): (JSX.Element | string)[] {
  return spans.map((span, place) => {
    switch (span.is) {
      case "text":
        return span.text;
      case "code":
        return <code key={place}>{span.text}</code>;
      case "strong":
        return <strong key={place}>{shownSpans(span.spans)}</strong>;
      case "em":
        return <em key={place}>{shownSpans(span.spans)}</em>;
      case "del":
        return <del key={place}>{shownSpans(span.spans)}</del>;
      case "link":
        return (
          <OuterLink key={place} url={span.url}>
            {span.text}
          </OuterLink>
        );
    }
  });
}
