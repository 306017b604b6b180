/** What of a browser matters to a dashboard: cookies by their paths, forms, and redirects that are looked at. */
export class Browser {
  readonly #origin: string;
  readonly #cookies: Map<string, string>;
  /** The `Set-Cookie` headers as they came. */
  readonly set: string[] = [];

  constructor(origin: string, cookies: Map<string, string> = new Map()) {
    this.#origin = origin;
    this.#cookies = cookies;
  }

  /** The same cookies, at another server of the same name. */
  at(origin: string): Browser {
    return new Browser(origin, this.#cookies);
  }

  get cookies(): ReadonlyMap<string, string> {
    return this.#cookies;
  }

  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    if (cookie !== "") headers.set("Cookie", cookie);
    const response = await fetch(`${this.#origin}${path}`, { ...init, headers, redirect: "manual" });
    for (const header of response.headers.getSetCookie()) this.#keep(header);
    return response;
  }

  /** Sends the form of the login page. */
  logIn(
    token: string,
    { next = "/holdfast/", headers = {} }: { next?: string; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Response> {
    const body = new URLSearchParams({ token, next });
    return this.ask("/holdfast/login", {
      method: "POST",
      headers: { Origin: this.#origin, ...headers },
      body,
    });
  }

  /** What the page is told of who looks. */
  async session(): Promise<Readonly<Record<string, unknown>>> {
    return (await (await this.ask("/holdfast/session")).json()) as Readonly<Record<string, unknown>>;
  }

  /** As the page asks the admin endpoint. */
  async act(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const csrf = String((await this.session())["csrf"]);
    return this.ask(`/holdfast${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf, ...headers },
      body: JSON.stringify(body),
    });
  }

  #keep(header: string): void {
    this.set.push(header);
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(header) ?? [];
    if (/Max-Age=0/.test(header)) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}
