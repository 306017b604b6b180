/** What the sender of a request may do, where its token says so. */
export interface Access {
  /** What the token is good for. */
  readonly scopes: readonly string[];
  /** What a call of the tool needs, besides what every request needs. */
  neededFor(tool: string): readonly string[];
}

/** Whose tasks a request is about. */
export interface Owner {
  /** Null where callers are not told apart. */
  readonly principal: string | null;
  /** Left out where nothing but the principal decides. */
  readonly access?: Access;
}
