import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Admin } from "../../../../src/admin/operations.ts";
import type { StoredFile } from "../../../../src/admin/artifact-shapes.ts";
import { useServices } from "../../api/services.ts";
import { Problem } from "../../parts/problem.tsx";
import { Time } from "../../parts/time.tsx";

interface FilesProps {
  readonly id: string;
  readonly files: readonly StoredFile[];
}

/** The files that a task has made. */
export function Files({ id, files }: FilesProps): JSX.Element {
  const { admin } = useServices();
  const [error, setError] = useState<Error>();
  const [saving, setSaving] = useState<string>();
  const save = async (file: StoredFile): Promise<void> => {
    setSaving(file.name);
    setError(undefined);
    try {
      offer(file.name, await contentOf(admin, id, file));
    } catch (problem) {
      setError(problem instanceof Error ? problem : new Error(String(problem)));
    } finally {
      setSaving(undefined);
    }
  };
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col">Bytes</th>
              <th scope="col">Stored</th>
              <th scope="col">
                <span class="hidden">Save</span>
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
                  <button type="button" disabled={saving !== undefined} onClick={() => void save(file)}>
                    {saving === file.name ? "Saving…" : "Save"}
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
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
