export { storeContract, type ContractCase, type StoreKind } from "./testing/store-contract.ts";
export type { StorePlace } from "./testing/store-case.ts";
