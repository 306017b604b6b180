import { afterEach, beforeEach, describe } from "vitest";
import type { TaskStore } from "../../src/store/store.ts";
import { changeFeedContract } from "./change-feed-contract.ts";
import { createContract } from "./create-contract.ts";
import { journalContract } from "./journal-contract.ts";
import { lifecycleContract } from "./lifecycle-contract.ts";
import { recoveryContract } from "./recovery-contract.ts";
import { settleContract } from "./settle-contract.ts";
import { sweepContract } from "./sweep-contract.ts";
import { textContract } from "./text-contract.ts";

/** A kind of store, as the contract wants to see it. */
export interface StoreKind {
  readonly name: string;
  /** Whether a second store in the same place finds what the first one kept. */
  readonly durable: boolean;
  place(): Promise<StorePlace>;
}

/** Where one store keeps its tasks. */
export interface StorePlace {
  /** A store that is not open yet. */
  store(): TaskStore;
  remove(): Promise<void>;
}

/** What a test of the contract works with: an open store, new for each test. */
export interface ContractContext {
  readonly kind: StoreKind;
  readonly place: StorePlace;
  store: TaskStore;
}

/** Everything that callers rely on and that every store must do alike. */
export function storeContract(kind: StoreKind): void {
  describe(`${kind.name} store`, () => {
    let context: ContractContext | undefined;
    const current = (): ContractContext => {
      if (context === undefined) throw new Error("no store outside of a test");
      return context;
    };

    beforeEach(async () => {
      const place = await kind.place();
      context = { kind, place, store: place.store() };
      await context.store.open();
    });
    afterEach(async () => {
      await current().store.close();
      await current().place.remove();
    });

    lifecycleContract(current);
    createContract(current);
    journalContract(current);
    settleContract(current);
    recoveryContract(current);
    sweepContract(current);
    changeFeedContract(current);
    textContract(current);
  });
}
