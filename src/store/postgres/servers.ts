/** A URL of Postgres, in parts: hosts are separated by commas, as libpq takes them. */
const parts = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)([^]*)$/i;

/** The URLs of the single servers that a URL names, in its order. */
export function serversOf(url: string): readonly string[] {
  const [, before = "", hosts = "", after = ""] = parts.exec(url) ?? [];
  return hosts.includes(",") ? hosts.split(",").map((host) => `${before}${host}${after}`) : [url];
}

/** The same servers, and another database on them. */
export function withDatabase(url: string, database: string): string {
  const [, before = "", hosts = "", after = ""] = parts.exec(url) ?? [];
  return `${before}${hosts}/${encodeURIComponent(database)}${after.replace(/^[^?#]*/, "")}`;
}

/** Takes a parameter out of a URL; undefined where it is not among them. */
export function takeParameter(url: string, name: string): { readonly url: string; readonly value?: string } {
  const [rest = "", query = ""] = url.split(/\?([^]*)/);
  const parameters = new URLSearchParams(query);
  const value = parameters.get(name);
  if (value === null) return { url };
  parameters.delete(name);
  return { url: parameters.size === 0 ? rest : `${rest}?${parameters.toString()}`, value };
}

/** The server to connect to, of those that may be the primary one. */
export class Servers {
  readonly #urls: readonly string[];
  #at = 0;

  constructor(url: string) {
    this.#urls = serversOf(url);
  }

  get count(): number {
    return this.#urls.length;
  }

  get current(): string {
    return this.#urls[this.#at] ?? "";
  }

  /** The server at this URL did not answer, or takes no writes: the next one is tried, unless somebody else already does. */
  leave(url: string): void {
    if (url === this.current) this.#at = (this.#at + 1) % this.#urls.length;
  }

  /** Connects to the first server that `connect` does not reject for, beginning with the last one that worked. */
  async each<T>(connect: (url: string) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const url = this.current;
      try {
        return await connect(url);
      } catch (error) {
        this.leave(url);
        if (tries >= this.count) throw error;
      }
    }
  }
}
