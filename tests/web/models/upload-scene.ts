import assert from 'node:assert/strict';
import { type Signal, signal } from '@preact/signals';
import { createPermissions, type Permission } from '../../../web/src/model/account/permissions.ts';
import type { Undoable } from '../../../web/src/model/changes/change-context.ts';
import type { ChangeModel } from '../../../web/src/model/changes/change-model.ts';
import { createFolder, type Folder } from '../../../web/src/model/folder/folder.ts';
import { createMessages, type Messages } from '../../../web/src/model/messages.ts';
import { createPathLocks, type PathLocks } from '../../../web/src/model/path-locks.ts';
import type { ConflictAnswer } from '../../../web/src/model/prompts.ts';
import { createSelection, type Selection } from '../../../web/src/model/selection.ts';
import { canRetry, type FileToUpload } from '../../../web/src/model/uploads/upload-item.ts';
import { createUploadModel, type UploadModel } from '../../../web/src/model/uploads/upload-model.ts';
import { itemStatus, uploadResult } from '../../../web/src/model/uploads/upload-texts.ts';
import type { Route, Router } from '../../../web/src/platform/router.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';
import { unlessAborted } from '../../../web/src/platform/unless-aborted.ts';
import { when } from './folder-scene.ts';
import { createEnglish, withoutIsolates } from './languages.ts';
import { createMemoryService } from './upload-service.ts';

/** A question about a file whose name is taken. */
interface Question {
  readonly name: string;
  readonly others: () => number;
  readonly mayReplace: boolean;
}

type Answer = ConflictAnswer | null;

export interface UploadSceneOptions {
  /** The stored files by path; a path that ends with "/" is an empty folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** The path of the shown folder. */
  readonly shown?: string;
  readonly maxUploadSize?: number;
  /** The permissions in the shown folder; undefined for a service without access control. */
  readonly permissions?: readonly Permission[];
  /** Replaces members of the service. */
  readonly override?: (service: Service) => Partial<Service>;
  /** Returns the user's answer; null if the user cancels. Default: fails the test. */
  readonly response?: (question: Question) => Answer | Promise<Answer>;
}

/** The upload model of a page on a service in memory. */
export interface UploadScene {
  readonly uploads: UploadModel;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly messages: Messages;
  readonly pathLocks: PathLocks;
  readonly service: Service;
  readonly stored: ReadonlyMap<string, string>;
  readonly questions: readonly Question[];
  readonly isOnline: Signal<boolean>;
  /** Adds files to a folder, by default the shown one, in one batch. */
  add(files: Readonly<Record<string, string>>, into?: string): void;
  /** Resolves when all uploads have ended. */
  idle(): Promise<void>;
  /** Resolves when `condition`, which reads signals, returns true. */
  when(condition: () => boolean): Promise<void>;
  /** The names of the shown entries. */
  shown(): readonly string[];
  /** The status of an upload as its row shows it. */
  statusOf(name: string): string;
  /** The result of all uploads as the tray shows it. */
  result(): string;
  id(name: string): number;
  /** The number of failed uploads that Retry sends again. */
  retryable(): number;
  /** Stores files that the folder does not show yet. */
  store(files: Readonly<Record<string, string>>): Promise<void>;
  /** Removes a stored file, which the folder still shows. */
  remove(path: string): Promise<unknown>;
  /** The changes that users can undo together. */
  readonly offered: readonly (readonly Undoable[])[];
  /** The functions that Ctrl+Z calls, the next one last. */
  readonly undos: Signal<readonly (() => void)[]>;
  /** What each of them says that the uploads did. */
  readonly descriptions: readonly string[];
  /** The user does something other than following the uploads. */
  act(): void;
}

export async function createUploadScene({
  files = {},
  shown = '',
  maxUploadSize,
  permissions: granted,
  override = () => ({}),
  response = ({ name }) => assert.fail(`Unexpected question about "${name}".`),
}: UploadSceneOptions = {}): Promise<UploadScene> {
  const memory = createMemoryService(files);
  const service: Service = { ...memory.service, ...override(memory.service) };
  const language = await createEnglish();
  const listing = await memory.service.list(shown);
  const order = signal({ by: 'name', descending: false } as const);
  const compareNames = signal(language.value.formats.compareNames);
  const folder = createFolder(service, { order, compareNames }, { path: shown, response: listing });
  const selection = createSelection(folder);
  const messages = createMessages();
  const pathLocks = createPathLocks();
  const isControlled = granted !== undefined;
  const permissions = createPermissions({
    isReadOnly: false,
    isControlled,
    isAnonymous: () => false,
    shown: folder.path,
  });
  if (granted) permissions.update({ prefix: shown, rights: [...granted] });
  const questions: Question[] = [];
  const offered: (readonly Undoable[])[] = [];
  const descriptions: string[] = [];
  const undos = signal<readonly (() => void)[]>([]);
  const isOnline = signal(true);
  let act = () => {};
  const uploads = createUploadModel(
    {
      service,
      folder,
      selection,
      router: routerOf(folder),
      messages,
      permissions,
      language,
      maxUploadSize: maxUploadSize ?? null,
      owner: null,
      changes: {
        undos,
        async perform(change) {
          await change({
            context: {
              offerUndo(changes: readonly Undoable[], description: string) {
                offered.push(changes);
                descriptions.push(withoutIsolates(description));
                return { label: 'Undo', run: () => {} };
              },
            },
          } as unknown as ChangeModel);
        },
      },
    },
    {
      async resolveConflict({ name, others, mayReplace }) {
        const question = { name, others, mayReplace };
        questions.push(question);
        return response(question);
      },
    },
    {
      pathLocks,
      connection: {
        isOnline,
        whenOnline: (ending) =>
          unlessAborted(
            when(() => isOnline.value),
            ending,
          ),
        delay: async (_milliseconds, ending) => ending?.throwIfAborted(),
        isServiceReachable: async () => true,
      },
      watchUser: (onActivity) => {
        act = onActivity;
      },
    },
  );
  const itemOf = (name: string) => {
    const item = uploads.items.value.find((each) => each.name === name);
    assert.ok(item, `There is an upload of "${name}".`);
    return item;
  };

  return {
    uploads,
    folder,
    selection,
    messages,
    pathLocks,
    service,
    remove: memory.service.remove,
    stored: memory.files,
    questions,
    offered,
    undos,
    descriptions,
    isOnline,
    add: (added, into) =>
      void uploads.add(
        Object.entries(added).map(([path, content]) => fileToUpload(path, content, into ?? folder.path.value)),
        [],
        into,
      ),
    idle: () => when(() => !uploads.isBusy.value),
    when,
    shown: () => folder.entries.value.map(({ path }) => path),
    statusOf: (name) => withoutIsolates(itemStatus(itemOf(name), language.value)),
    result: () => uploadResult(uploads.summary.value, language.value.text).join(', '),
    id: (name) => itemOf(name).id,
    retryable: () => {
      const failed = uploads.items.value.filter(({ state }) => state.value === 'failed');
      return failed.filter((item) => canRetry(item, permissions)).length;
    },
    async store(added) {
      for (const [path, content] of Object.entries(added)) memory.files.set(path, content);
    },
    act: () => act(),
  };
}

/** Returns a file to upload at `path`, relative to the folder `into`. */
export function fileToUpload(path: string, content: string, into = ''): FileToUpload {
  const at = path.lastIndexOf('/') + 1;
  const name = path.slice(at);
  return { file: new File([content], name), folder: into + path.slice(0, at), name };
}

/** A router without the browser's history. */
function routerOf(folder: Folder): Router {
  const route = signal<Route>({ folder: folder.path.value, preview: null });
  const openFolder = (path: string) => {
    route.value = { folder: path, preview: null };
    folder.open(path);
  };
  return {
    route,
    go: ({ folder: path }) => openFolder(path),
    openFolder,
    openView() {},
    openPreview() {},
    closePreview() {},
    watchViewState() {},
    viewState: () => undefined,
    closeBeforeNavigating() {},
    animateWith() {},
  };
}
