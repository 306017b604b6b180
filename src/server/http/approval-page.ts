import { escapeHtml } from "./dashboard/login.ts";

const ends = {
  approved: [200, "Approved. The call goes on."],
  declined: [200, "Declined. Nothing is called."],
  wasApproved: [410, "This was approved before, and that counts. There is nothing to do."],
  wasDeclined: [410, "This was declined before, and that counts. Nothing is called."],
  gone: [410, "It is too late to decide this. There is nothing to do."],
} as const;

export type ApprovalEnd = keyof typeof ends;

/** What a person sees who opens the address of an approval, or has decided. Nothing of it is kept, framed, or told to other sites. */
export function approvalPage(state: ApprovalEnd | { readonly asks: string }): Response {
  const [status, text] = typeof state === "string" ? ends[state] : ([200, state.asks] as const);
  const button = (approve: boolean, name: string): string =>
    `<form method="post" action="?approve=${approve}"><button>${name}</button></form>`;
  const buttons =
    typeof state === "string" ? "" : `${button(true, "Approve")}\n${button(false, "Decline")}\n`;
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>Approval</title>
<h1>Approval</h1>
<p style="white-space: pre-wrap">${escapeHtml(text)}</p>
${buttons}</html>
`;
  return new Response(html, {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Cache-Control": "no-store",
      "Content-Security-Policy":
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
    },
  });
}
