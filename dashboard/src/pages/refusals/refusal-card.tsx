import type { JSX } from "preact";
import { Bars } from "../../parts/bars.tsx";
import { meaningOf, refusalGroups, type RefusalGroup } from "./refusal-groups.ts";

/** Requests that were refused for one kind of reason. */
export function RefusalCard({ group }: { readonly group: RefusalGroup }): JSX.Element {
  const { name, count, byMinute, refusals } = group;
  const { title, advice } = refusalGroups[name];
  const heading = `refused-${name}`;
  return (
    <section class="card refused" aria-labelledby={heading}>
      <div class="heading">
        <h2 id={heading}>
          {title} <span class="number">{count.toLocaleString()}</span>
        </h2>
        <div class="total failed">
          <Bars label={`requests refused: ${title}`} numbers={byMinute} />
        </div>
      </div>
      <p class="advice">{advice}</p>
      <div class="scroll" role="group" aria-label={title} tabIndex={0}>
        <table>
          <caption class="hidden">{title}, most frequent first</caption>
          <thead>
            <tr>
              <th scope="col">Code</th>
              <th scope="col">Method</th>
              <th scope="col" class="number">
                Requests
              </th>
              <th scope="col">Per minute</th>
              <th scope="col">What it means</th>
            </tr>
          </thead>
          <tbody>
            {refusals.map((refusal) => (
              <tr key={`${refusal.code} ${refusal.method ?? ""}`}>
                <th scope="row">
                  <code>{refusal.code}</code>
                </th>
                <td class="method">
                  {refusal.method === null ? (
                    <span class="faint">unknown</span>
                  ) : (
                    <code>{refusal.method}</code>
                  )}
                </td>
                <td class="number">{refusal.count.toLocaleString()}</td>
                <td class="rate failed">
                  <Bars
                    label={`${refusal.code} ${refusal.method ?? ""} by minute`}
                    numbers={refusal.byMinute}
                  />
                </td>
                <td class="meaning">{meaningOf(refusal.code, refusal.method)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
