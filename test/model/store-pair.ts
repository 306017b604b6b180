import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { HandlerName } from "../../src/task/queue.ts";
import { assertHears } from "./mirror.ts";
import { applyAll } from "./model-groups.ts";
import { end, join, renewal } from "./model-owners.ts";
import { emptyModel, type Answer, type Model } from "./model-state.ts";
import type { StoreCommand } from "./model.ts";
import { afterDeath, type Asked, type Death } from "./orders.ts";
import { StoreChild } from "./store-child.ts";
import { handlers, viewOfModel, type Look } from "./view.ts";
import type { Place } from "../places/place.ts";

/** What a process is given to do. */
export interface Work {
  readonly groups: readonly (readonly StoreCommand[])[];
  /** It has up to this many groups to do at a time. */
  readonly ahead: number;
}

export type Seat = 0 | 1;

const backoff = { baseMs: 5, maxMs: 12, maxCrashes: 5 };

/** Two processes at one place, either of which may be killed while both write, and what the place may hold by then. */
export class StorePair {
  readonly #place: Place;
  #children: readonly StoreChild[] = [];
  /** As far as the answers tell; mostly it is one. */
  #possible: readonly Model[] = [emptyModel];
  #born = 0;
  /** Counts what is asked and what is answered. */
  #moment = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  async start(): Promise<void> {
    this.#children = [await this.#open(handlers), await this.#open(handlers)];
  }

  /** Both do their work at the same time, and one is killed once it has answered so many groups. */
  async work(works: readonly [Work, Work], dying: Seat, awaited: number): Promise<void> {
    const victim = this.#child(dying);
    const { groups, ahead } = works[dying];
    const enough = Math.min(awaited, groups.length);
    const death = Promise.withResolvers<Death>();
    const answered = (count: number): void => {
      if (count === enough) death.resolve(this.#killOne(victim));
    };
    const [ofVictim, ofOther] = await Promise.all([
      this.#ask(victim, { groups, ahead }, answered),
      this.#ask(this.#child(other(dying)), works[other(dying)]),
    ]);
    const possible = afterDeath(this.#possible, ofVictim, await death.promise, ofOther);
    const answers = JSON.stringify({ ofVictim, ofOther });
    assert.notEqual(possible.length, 0, `these answers are not the model's, in whichever order: ${answers}`);
    this.#possible = possible;
  }

  /** Another process comes in the place of one that was killed. */
  async replace(seat: Seat, of: readonly HandlerName[]): Promise<void> {
    const child = await this.#open(of);
    this.#children = this.#children.with(seat, child);
  }

  /** Both end at once, in the middle of nothing, and others come. */
  async restart(): Promise<void> {
    for (const child of this.#children) {
      await this.#killOne(child);
      this.#possible = this.#possible.map((model) => end(model, child.id, true));
    }
    await this.start();
  }

  /** Both see the same, which is something that the place may hold. */
  async assertSame(look: Look): Promise<void> {
    for (const child of this.#children) {
      this.#learn(await child.look(look), (model) => viewOfModel(model, child.id, look));
    }
  }

  /** One reclaims, in pages, what was left. */
  async takeOver(heir: Seat, limit: number, now: number): Promise<void> {
    const child = this.#child(heir);
    const { secretsChanged: _, now: _now, ...renewed } = await child.renew(); // the model has neither
    this.#learn(renewed, (model) => renewal(model, child.id));
    for (const owner of renewed.gone) {
      for (let after: string | null = ""; after !== null;) {
        const reclaim = { type: "reclaim", now, owner, after, limit, backoff } as const;
        const answer = await this.#writeOne(child, reclaim);
        after = "reclaimed" in answer ? answer.next : null;
      }
    }
  }

  /** Each comes to hold what there is by what it is told, without a look at everything. */
  async assertHeard(): Promise<void> {
    const [model = emptyModel] = this.#possible;
    for (const child of this.#children) await assertHears(child, model, child.id);
  }

  async kill(): Promise<void> {
    await Promise.all(this.#children.map((child) => child.kill()));
  }

  async #open(of: readonly HandlerName[]): Promise<StoreChild> {
    const id = `o${++this.#born}`;
    const child = await StoreChild.open(this.#place.at, id, of);
    this.#possible = this.#possible.map((model) => join(model, id, of));
    return child;
  }

  #child(seat: Seat): StoreChild {
    const child = this.#children[seat];
    if (child === undefined) throw new Error("No process has been started.");
    return child;
  }

  async #killOne(child: StoreChild): Promise<Death> {
    const from = ++this.#moment;
    await child.kill();
    await this.#place.killed(child.pid);
    return { by: child.id, from, until: ++this.#moment };
  }

  /** Resolves when all is answered, or the process is gone. */
  async #ask(
    child: StoreChild,
    { groups, ahead }: Work,
    onAnswered: (count: number) => void = () => undefined,
  ): Promise<readonly Asked[]> {
    const asked: Asked[] = [];
    let next = 0;
    let answered = 0;
    const askOn = async (): Promise<void> => {
      const place = next++;
      const commands = groups[place];
      if (commands === undefined) return;
      const from = ++this.#moment;
      const answers = await child.write(commands);
      const until = answers === undefined ? Infinity : ++this.#moment;
      asked[place] = { by: child.id, commands, from, answers, until };
      if (answers === undefined) return;
      onAnswered(++answered);
      await askOn();
    };
    const all = Promise.all(Array.from({ length: ahead }, askOn));
    onAnswered(0);
    await all;
    return asked;
  }

  async #writeOne(child: StoreChild, command: StoreCommand): Promise<Answer> {
    const found = (await child.write([command])) ?? [];
    const runs = this.#possible.map((before) => applyAll(before, [{ by: child.id, commands: [command] }]));
    const right = runs.filter(({ written: [written] }) => isDeepStrictEqual(written?.answers, found));
    if (right.length === 0) assert.deepEqual(found, runs[0]?.written[0]?.answers);
    this.#possible = right.map(({ model }) => model);
    const [answer = []] = found;
    return answer;
  }

  /** Where no possible state shows what was found, the difference to the first one says most. */
  #learn(found: unknown, expected: (model: Model) => unknown): void {
    const right = this.#possible.filter((model) => isDeepStrictEqual(expected(model), found));
    if (right.length === 0) assert.deepEqual(found, expected(this.#possible[0] ?? emptyModel));
    this.#possible = right;
  }
}

function other(seat: Seat): Seat {
  return seat === 0 ? 1 : 0;
}
