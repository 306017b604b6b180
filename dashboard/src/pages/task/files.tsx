import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Admin } from "../../../../src/admin/operations.ts";
import type { StoredFile } from "../../../../src/admin/task-parts.ts";
import { useServices } from "../../api/services.ts";
import { Problem } from "../../parts/problem.tsx";
import { Time } from "../../parts/time.tsx";
import { imagePart, kindOf, textPart, type ResultPart } from "./result/result-parts.ts";
import { Part } from "./result/result-view.tsx";

interface FilesProps {
  readonly id: string;
  readonly files: readonly StoredFile[];
}

/** Larger files are saved only. */
const mostShown = 2 * 1024 * 1024;

/** The files that a task has made. */
export function Files({ id, files }: FilesProps): JSX.Element {
  const { admin } = useServices();
  const [error, setError] = useState<Error>();
  const [busyWith, setBusyWith] = useState<string>();
  const [viewed, setViewed] = useState<{ readonly name: string; readonly part: ResultPart }>();
  const act = async ({ name }: StoredFile, does: () => Promise<void>): Promise<void> => {
    setBusyWith(name);
    setError(undefined);
    try {
      await does();
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)));
    } finally {
      setBusyWith(undefined);
    }
  };
  const save = (file: StoredFile): Promise<void> =>
    act(file, async () => offer(file.name, await contentOf(admin, id, file)));
  const view = (file: StoredFile): Promise<void> =>
    act(file, async () => {
      setViewed({ name: file.name, part: await partOf(file, await contentOf(admin, id, file)) });
    });
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      <div class="scroll">
        <table class="files">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col">Bytes</th>
              <th scope="col">Stored</th>
              <th scope="col">
                <span class="hidden">View or save</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {files.map((file) => (
              <tr key={file.name}>
                <td>{file.name}</td>
                <td>{file.mimeType}</td>
                <td class="number">{file.bytes.toLocaleString()}</td>
                <td>
                  <Time at={file.at} />
                </td>
                <td>
                  <div class="buttons">
                    {isShown(file) && (
                      <button
                        type="button"
                        class="quiet small"
                        aria-label={`View ${file.name}`}
                        disabled={busyWith !== undefined}
                        onClick={() => void view(file)}
                      >
                        View
                      </button>
                    )}
                    <button
                      type="button"
                      class="quiet small"
                      aria-label={`Save ${file.name}`}
                      disabled={busyWith !== undefined}
                      onClick={() => void save(file)}
                    >
                      Save
                    </button>
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {viewed !== undefined && (
        <section class="viewed" aria-label={`File ${viewed.name}`}>
          <Part key={viewed.name} part={viewed.part} />
          <button type="button" class="quiet small" onClick={() => setViewed(undefined)}>
            Close {viewed.name}
          </button>
        </section>
      )}
    </>
  );
}

function isShown({ mimeType, bytes }: StoredFile): boolean {
  return kindOf(mimeType) !== undefined && bytes <= mostShown;
}

async function partOf({ name, mimeType }: StoredFile, content: Blob): Promise<ResultPart> {
  const kind = kindOf(mimeType) ?? "text";
  if (kind !== "image") return textPart(await content.text(), { label: name, kind });
  const letters = Array.from(new Uint8Array(await content.arrayBuffer()), (byte) =>
    String.fromCharCode(byte),
  );
  return imagePart(mimeType, btoa(letters.join(""))) ?? { shown: "text", text: "", label: name };
}

/** Read in parts. Its type is that of no page: browsers run nothing in it. */
async function contentOf(admin: Admin, id: string, { name, bytes }: StoredFile): Promise<Blob> {
  const parts: Blob[] = [];
  for (let from = 0; from < bytes;) {
    const { data } = await admin.artifact(id, name, { from });
    const part = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    if (part.length === 0) throw new Error(`${name} ended too early.`);
    parts.push(new Blob([part]));
    from += part.length;
  }
  return new Blob(parts, { type: "application/octet-stream" });
}

function offer(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser reads it in the background
}
