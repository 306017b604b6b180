import { createHash } from "node:crypto";
import { escapeHtml } from "./escape-html.ts";

/** It looks like the page behind it, whose style sheet is not for strangers. */
const style = `
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; background: light-dark(#f6f7f9, #10151c); color: light-dark(#16202c, #e7ecf2); }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { box-sizing: border-box; width: min(24rem, 92vw); padding: 1.5rem; background: light-dark(#ffffff, #171e27); border: 1px solid light-dark(#d8dde4, #323d4b); border-radius: 10px; }
h1 { margin: 0 0 1rem; font-size: 1.45rem; }
label { display: block; margin-bottom: .25rem; }
input, button { box-sizing: border-box; width: 100%; font: inherit; padding: .5rem .7rem; border-radius: 6px; border: 1px solid light-dark(#7b8794, #6b7a8c); background: none; color: inherit; }
button { margin-top: 1rem; cursor: pointer; background: light-dark(#0b5cad, #83bdff); border-color: transparent; color: light-dark(#ffffff, #0d1620); }
:focus-visible { outline: 2px solid light-dark(#0b5cad, #83bdff); outline-offset: 2px; }
[role="alert"] { border-left: 4px solid light-dark(#b3261e, #ff9d94); padding-left: .75rem; }
`;

const styleHash = createHash("sha256").update(style).digest("base64");

/** The page has one style and no script. */
const policy = `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

export interface LoginPage {
  /** Of the dashboard. */
  readonly path: string;
  /** Where to go after the login. */
  readonly next: string;
  /** Why the login failed. */
  readonly problem?: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The page where operators log in: the only page that is public. */
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
<label for="token">Operator token</label>
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
