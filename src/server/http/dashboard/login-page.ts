import { createHash } from "node:crypto";
import { escapeHtml } from "./escape-html.ts";

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { width: min(22rem, 90vw); }
h1 { font-size: 1.4rem; }
label { display: block; margin-bottom: .25rem; }
input, button { box-sizing: border-box; width: 100%; font: inherit; padding: .6rem; border-radius: .4rem; border: 1px solid; }
button { margin-top: 1rem; cursor: pointer; }
[role="alert"] { border-left: 4px solid #d22; padding-left: .75rem; }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

/** The page has one style and no script. */
const policy = `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

export interface LoginPage {
  /** Of the dashboard. */
  readonly path: string;
  /** Where who logs in goes on. */
  readonly next: string;
  /** Why he could not. */
  readonly problem?: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where an operator says who he is: all that strangers get to see. */
export function loginPage({ path, next, problem, status, headers }: LoginPage): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in to Holdfast</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Holdfast</h1>
${problem === undefined ? "" : `<p role="alert">${escapeHtml(problem)}</p>\n`}<form method="post" action="${escapeHtml(path)}/login">
<input type="hidden" name="next" value="${escapeHtml(next)}">
<label for="token">Token of an operator</label>
<input id="token" name="token" type="password" autocomplete="current-password" spellcheck="false" required autofocus>
<button type="submit">Log in</button>
</form>
</main>
</body>
</html>
`;
  return new Response(html, {
    status,
    headers: { ...headers, "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy },
  });
}
