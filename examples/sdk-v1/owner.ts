import { openSdkV1Tasks, type SdkV1Tasks } from "holdfast/sdk-v1";
import { sqliteStore } from "holdfast/sqlite";

/** Tasks that belong to users; your server keeps their names by session. */
export function openTasksOfUsers(users: ReadonlyMap<string, string>): Promise<SdkV1Tasks> {
  return openSdkV1Tasks({
    store: sqliteStore("tasks.db"),
    owner: (sessionId) => (sessionId === undefined ? undefined : users.get(sessionId)),
  });
}
