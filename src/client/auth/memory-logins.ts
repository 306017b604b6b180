import type { Login, LoginStore } from "./login.ts";

/** Logins in memory: for tests, and for programs that log in each time. */
export function memoryLogins(): LoginStore {
  const logins = new Map<string, Login>();
  const turns = new Map<string, Promise<unknown>>();
  return {
    load: async (server) => logins.get(server),
    save: async (server, login) => void logins.set(server, login),
    delete: async (server) => void logins.delete(server),
    exclusively: async (server, work) => {
      const turn = (turns.get(server) ?? Promise.resolve()).then(work, work);
      turns.set(server, turn);
      return turn;
    },
  };
}
