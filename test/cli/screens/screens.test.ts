import { describe } from "vitest";
import { everythingWalk } from "./everything-walk.ts";
import { firstMinutes, login } from "./short-walks.ts";
import { oursWalk } from "./ours-walk.ts";
import { sdkOverHttp, sdkOverStdio } from "./sdk-walks.ts";
import { failing, everything, ours, protectedServer, sdkExample } from "./servers.ts";
import { showsScreens } from "./shows-screens.ts";

describe("the screens of a person who", () => {
  showsScreens("first-minutes", { place: failing, walk: firstMinutes });
  showsScreens("login", { place: protectedServer, walk: login });
  showsScreens("ours-http", { place: async () => ours("http"), walk: oursWalk });
  showsScreens("ours-stdio", { place: async () => ours("stdio"), walk: oursWalk, isWide: true });
  showsScreens("everything-http", { place: async () => everything("http"), walk: everythingWalk });
  showsScreens("everything-stdio", {
    place: async () => everything("stdio"),
    walk: everythingWalk,
    isWide: true,
  });
  showsScreens("sdk-http", { place: async () => sdkExample("http"), walk: sdkOverHttp });
  showsScreens("sdk-stdio", { place: async () => sdkExample("stdio"), walk: sdkOverStdio, isWide: true });
});
