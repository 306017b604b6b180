import { createTasks } from "holdfast";
import { storeOnTables } from "holdfast/store";
import { loggedDatabase } from "./logged-database.ts";

export const tasks = createTasks({ store: storeOnTables(loggedDatabase("tasks.log")) });
