import type { Browser, Locator, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { tokens } from "./operators.ts";

/** Runs in each page before its own scripts. */
const tellsViolations = `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  console.error("The policy forbids " + violatedDirective + " " + blockedURI))`;

interface VisitOptions {
  /** Who logs in. Default: the one who may act. */
  readonly as?: keyof typeof tokens | "nobody";
  /** Below the path of the dashboard. Default `/`. */
  readonly path?: string;
  readonly theme?: "light" | "dark";
  readonly width?: number;
  readonly reducedMotion?: boolean;
}

/**
 * Somebody who looks at the dashboard of a server, logged in by its login page. His test fails for all that a page must never do: errors, requests to other origins,
 * what its policy forbids, dialogs that a script opens, and answers that say that the server failed.
 */
export class Visitor {
  readonly page: Page;
  readonly #origin: string;
  readonly #faults: string[] = [];
  readonly #expected: RegExp[] = [];

  private constructor(page: Page, origin: string) {
    this.page = page;
    this.#origin = origin;
  }

  static async open(browser: Browser, origin: string, options: VisitOptions = {}): Promise<Visitor> {
    const { as = "write", path = "/", theme = "light", width = 1_280, reducedMotion = false } = options;
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      colorScheme: theme,
      reducedMotion: reducedMotion ? "reduce" : "no-preference",
      locale: "en-GB",
      timezoneId: "UTC",
    });
    const visitor = new Visitor(await context.newPage(), origin);
    onTestFinished(({ task }) => visitor.#leave(task.result?.state === "fail"));
    await context.addInitScript({ content: tellsViolations });
    visitor.#watch();
    await visitor.page.goto(visitor.urlOf(path));
    if (as === "nobody") return visitor;
    await visitor.logIn(tokens[as]);
    await visitor.page.getByRole("button", { name: "Log out" }).waitFor();
    return visitor;
  }

  urlOf(path: string): string {
    return `${this.#origin}/holdfast${path}`;
  }

  /** Where the page is, below the path of the dashboard. */
  get path(): string {
    return this.page.url().slice(this.urlOf("").length);
  }

  heading(text: string): Locator {
    return this.page.getByRole("heading", { level: 1, name: text });
  }

  /** The rows of tables that have a text, such as the id of a task; a space is between one cell and the next. */
  row(text: string): Locator {
    return this.page.getByRole("row", { name: text });
  }

  /** The ids of the tasks that are listed. */
  listed(): Promise<string[]> {
    return this.page.locator("a.task").allInnerTexts();
  }

  async logIn(token: string): Promise<void> {
    await this.page.getByLabel("Operator token").fill(token);
    await this.page.getByRole("button", { name: "Log in" }).click();
  }

  /** Does something that is asked about before it is done. */
  async act(button: string, consent: string): Promise<void> {
    await this.page.getByRole("button", { name: button }).click();
    await this.page.getByRole("button", { name: consent }).click();
  }

  /** Another window of the same operator. */
  async another(path: string): Promise<Visitor> {
    const visitor = new Visitor(await this.page.context().newPage(), this.#origin);
    onTestFinished(({ task }) => visitor.#leave(task.result?.state === "fail"));
    visitor.#watch();
    await visitor.page.goto(visitor.urlOf(path));
    return visitor;
  }

  /** Faults of this kind are part of the test. */
  expectFaults(kind: RegExp): void {
    this.#expected.push(kind);
  }

  #watch(): void {
    // A page that is not logged in is answered 401, and browsers call that an error.
    this.expectFaults(/^console: Failed to load resource: .* 401 .*\/holdfast\//);
    this.page.on("pageerror", ({ stack = "" }) => this.#faults.push(`error: ${stack}`));
    this.page.on("console", (message) => {
      if (message.type() === "error")
        this.#faults.push(`console: ${message.text()} ${message.location().url}`);
    });
    this.page.on("dialog", (dialog) => {
      this.#faults.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    this.page.on("request", (request) => {
      if (new URL(request.url()).origin !== this.#origin) this.#faults.push(`request: ${request.url()}`);
    });
    this.page.on("response", (response) => {
      if (response.status() >= 500) this.#faults.push(`answer: ${response.status()} ${response.url()}`);
    });
  }

  async #leave(hasFailed: boolean): Promise<void> {
    if (hasFailed) await this.#tellWhatIsShown();
    await this.page.close();
    const unexpected = this.#faults.filter((fault) => !this.#expected.some((kind) => kind.test(fault)));
    expect(unexpected).toEqual([]);
  }

  async #tellWhatIsShown(): Promise<void> {
    const shown = await this.page.locator("body").ariaSnapshot({ timeout: 2_000 });
    console.error(`${this.page.url()} shows:\n${shown}\n${this.#faults.join("\n")}`);
  }
}
