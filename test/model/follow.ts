import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { fullForm } from "../full-form.ts";
import type { Renewal, TaskChange } from "../../src/store/store.ts";
import type { HandlerName } from "../../src/task/queue.ts";
import { assertHears } from "./mirror.ts";
import { end, isAlive, join, renewal } from "./model-owners.ts";
import { applyAll, applyInAnyOrder, byTask, withoutLuck, type Group, type Written } from "./model-groups.ts";
import { emptyModel, type Answer, type Model } from "./model-state.ts";
import type { Act, Move } from "./moves.ts";
import type { StoreSubject } from "./store-subject.ts";
import { handlers, viewOfModel, type Look } from "./view.ts";
import { withoutReuse } from "./without-reuse.ts";

/** Where stores are opened that are put beside the model. */
export interface Place {
  open(id: string, handlers: readonly HandlerName[]): Promise<StoreSubject>;
  /** Takes an owner for dead. */
  kill(id: string): Promise<void>;
  /** Whether a killed owner can write until its tasks are reclaimed, as a process can that has lost its lock. */
  readonly outlivesKill: boolean;
  /** Whether a killed owner lives again with the next renewal, until its tasks are reclaimed. */
  readonly revives: boolean;
  /**
   * Whether what one owner asks for at once is done at once. Otherwise commands of others come between, and those that look for tasks pass by
   * what others are writing.
   */
  readonly wholeGroups: boolean;
}

/** Hears of each command and what it came to, and of what commands did to other tasks than their own. */
export interface Note {
  readonly done: (type: string, answer: Answer) => void;
  readonly around: (what: string) => void;
}

const noNote: Note = { done: () => undefined, around: () => undefined };

/** Those that have the store open at the same time. */
const mostOwners = 3;
const backoff = { baseMs: 5, maxMs: 12, maxCrashes: 5 };

/** After how many moves all is looked at, which takes as long as the moves: what went wrong before is mostly still to be seen. */
const movesPerLook = fullForm ? 1 : 3;

/** Holds the stores of a place to the model: what each move is answered, and what there is after it. */
export async function follow(place: Place, moves: readonly Move[], note: Note = noNote): Promise<void> {
  const owners = new Owners(place, note);
  try {
    for (const [index, { act, look }] of moves.entries()) {
      await owners.act(act);
      if ((moves.length - index - 1) % movesPerLook === 0) await owners.assertSame(look);
    }
    await owners.act({ do: "hear" });
  } finally {
    await owners.close();
  }
}

/** The owners of one sequence, by the order in which they came, and the model of what they do. */
class Owners {
  readonly #place: Place;
  readonly #note: Note;
  readonly #open = new Map<string, StoreSubject>();
  /** Every change that was made, with the owners that made it. */
  readonly #made = new Map<string, Set<string>>();
  #model = emptyModel;
  #born = 0;

  constructor(place: Place, note: Note) {
    this.#place = place;
    this.#note = note;
  }

  async act(act: Act): Promise<void> {
    if (this.#living().length === 0) await this.#join(handlers);
    switch (act.do) {
      case "write":
        return void (await this.#write({ by: pick(this.#writers(), act.by), commands: act.commands }));
      case "race":
        return void (await this.#write(...this.#groupsOf(act)));
      case "join":
        return this.#open.size < mostOwners ? this.#join(act.handlers) : undefined;
      case "close":
        return this.#close(pick([...this.#open.keys()], act.which));
      case "kill":
        return this.#kill(pick(this.#living(), act.which));
      case "restart":
        for (const id of Array.from(this.#open.keys())) await this.#close(id);
        return this.#join(act.handlers);
      case "renew":
        return void (await this.#renew(
          pick(this.#place.revives ? this.#living() : [...this.#open.keys()], act.by),
        ));
      case "take_over":
        await this.#takeOver(pick(this.#living(), act.by), act);
        // What was queued for one that is gone can be claimed now, and no later change must be what tells.
        return this.#hear();
      case "hear":
        return this.#hear();
    }
  }

  /** All see the same, whoever looks. */
  async assertSame(look: Look): Promise<void> {
    for (const [id, owner] of this.#open) {
      assert.deepEqual(await owner.look(look), viewOfModel(this.#model, id, look), `what ${id} sees`);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((owner) => owner.close()));
  }

  #living(): readonly string[] {
    return [...this.#open.keys()].filter((id) => isAlive(this.#model, id));
  }

  /** Also those that are taken for dead, but less often. */
  #writers(): readonly string[] {
    const living = this.#living();
    return [...living, ...living, ...living, ...this.#open.keys()];
  }

  #groupsOf({ by, commands }: Extract<Act, { do: "race" }>): readonly Group[] {
    const [one, other] = commands;
    const first = pick(this.#writers(), by);
    const others = [...this.#open.keys()].filter((id) => id !== first);
    if (others.length === 0) return [{ by: first, commands: [...one, ...other] }];
    return [
      { by: first, commands: one },
      { by: pick(others, by), commands: other },
    ];
  }

  async #join(of: readonly HandlerName[]): Promise<void> {
    const id = `o${++this.#born}`;
    this.#open.set(id, await this.#place.open(id, of));
    this.#model = join(this.#model, id, of);
  }

  async #close(id: string): Promise<void> {
    const owner = this.#owner(id);
    this.#open.delete(id);
    await owner.close();
    this.#model = end(this.#model, id, true);
  }

  async #kill(id: string): Promise<void> {
    await this.#place.kill(id);
    this.#model = end(this.#model, id, !this.#place.outlivesKill);
  }

  /** Groups of different owners are written at the same time. */
  async #write(...asked: readonly Group[]): Promise<readonly Written[]> {
    const { wholeGroups } = this.#place;
    const groups = withoutReuse(this.#model, wholeGroups ? asked : withoutLuck(asked));
    const found = await Promise.all(groups.map((group) => this.#writeGroup(group)));
    const orders = applyInAnyOrder(this.#model, groups, wholeGroups);
    const fits = orders.filter(({ written }) => isDeepStrictEqual(found, written));
    const { model, written, around } =
      (await this.#whichCame(fits)) ?? orders[0] ?? applyAll(this.#model, groups);
    assert.deepEqual(found, written);
    this.#model = model;
    for (const what of around) this.#note.around(what);
    for (const [index, { by, commands }] of groups.entries()) this.#wrote(by, commands, written[index]);
    return written;
  }

  /** Orders that answer alike may differ in whether an owner that is gone is forgotten, which a renewal shows. */
  async #whichCame<Order extends { readonly model: Model }>(
    orders: readonly Order[],
  ): Promise<Order | undefined> {
    const [one, ...others] = orders;
    const [looks] = this.#living();
    if (one === undefined || looks === undefined) return one;
    if (others.every(({ model }) => isDeepStrictEqual(one.model.owners, model.owners))) return one;
    const found = await this.#renewed(looks);
    return orders.find(({ model }) => isDeepStrictEqual(found, renewal(model, looks))) ?? one;
  }

  #wrote(by: string, commands: Group["commands"], { answers, changes }: Written = nothing): void {
    for (const change of changes) {
      const name = nameOf(change);
      this.#made.set(name, (this.#made.get(name) ?? new Set()).add(by));
    }
    for (const [index, answer] of answers.entries()) this.#note.done(commands[index]?.type ?? "", answer);
  }

  /** What an owner is told of its own changes comes before its writes resolve. */
  async #writeGroup({ by, commands }: Group): Promise<Written> {
    const owner = this.#owner(by);
    const answers = await owner.write(commands);
    const changes = owner.toldOfOwn();
    return { answers, changes: this.#place.wholeGroups ? changes : byTask(changes) };
  }

  /** Without what the model does not know: the store's clock, and who has seen which secrets. */
  async #renewed(id: string): Promise<Renewal> {
    const { secretsChanged: _, now: _now, ...found } = await this.#owner(id).renew();
    return found;
  }

  async #renew(id: string): Promise<Renewal> {
    const found = await this.#renewed(id);
    assert.deepEqual(found, renewal(this.#model, id));
    return found;
  }

  /** In pages; one that is taken for dead by mistake writes at the same time. */
  async #takeOver(by: string, { page: limit, now, late }: Extract<Act, { do: "take_over" }>): Promise<void> {
    for (const owner of (await this.#renew(by)).gone) {
      for (let after: string | null = ""; after !== null;) {
        const reclaim = { type: "reclaim", now, owner, after, limit, backoff } as const;
        const others = this.#open.has(owner) ? [{ by: owner, commands: late }] : [];
        const [written] = await this.#write({ by, commands: [reclaim] }, ...others);
        const [answer] = written?.answers ?? [];
        after = answer !== undefined && "reclaimed" in answer ? answer.next : null;
      }
    }
  }

  async #hear(): Promise<void> {
    for (const id of this.#living()) {
      await assertHears(this.#owner(id), this.#model, id);
      this.#assertTold(id);
    }
  }

  /** Of nothing that did not happen, and of nothing of its own as if it were another's. */
  #assertTold(id: string): void {
    for (const change of this.#owner(id).toldOfOthers()) {
      const by = [...(this.#made.get(nameOf(change)) ?? [])];
      assert.ok(
        by.some((other) => other !== id),
        `${id} was told that others made ${JSON.stringify(change)}`,
      );
    }
  }

  #owner(id: string): StoreSubject {
    const owner = this.#open.get(id);
    if (owner === undefined) throw new Error(`${id} has no store open.`);
    return owner;
  }
}

const nothing: Written = { answers: [], changes: [] };

/** Others are told which task changed, and not why. */
function nameOf({ id, version }: TaskChange): string {
  return JSON.stringify([id, version]);
}

function pick(ids: readonly string[], which: number): string {
  return ids[which % ids.length] ?? "";
}
