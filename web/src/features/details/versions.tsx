import { useRef, useState } from 'preact/hooks';
import { deleteEarlierVersions } from '../../model/changes/delete-versions.ts';
import { restoreFileVersion } from '../../model/changes/restore-version.ts';
import { parentOf } from '../../platform/paths.ts';
import type { FileEntry, Service } from '../../platform/service/service.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import { type FileVersion, listVersions, type VersionPage, versionUrl } from '../../platform/service/versions.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { MenuButton, type MenuItem } from '../../ui/menus.tsx';
import { clickLink } from '../actions/download.ts';
import { Name } from '../folder/entry-parts.tsx';
import { useChanges, usePermissions, useRetention, useService, useUrls } from '../models.ts';
import './versions.css';

/** The number of versions that are loaded at first, and the factor by which "Show more" increases it. */
const FIRST_COUNT = 10;
const COUNT_FACTOR = 5;

/** The earlier contents of a file, which users can open, download and restore. */
export function Versions({ file }: { file: FileEntry }) {
  const service = useService();
  const language = useFullLanguage();
  const { text } = language;
  const [count, setCount] = useState(FIRST_COUNT);
  const [revision, setRevision] = useState(0);
  const loaded = useLoaded(
    (signal) => readVersions(service, file.path, { count, signal }),
    [file.etag, count, revision],
  );
  /** Stays visible while the list loads again. */
  const last = useRef<VersionPage | undefined>(undefined);
  if (loaded.state === 'ready') last.current = loaded.value;
  return (
    <section class="versions">
      <h4>{text.versions.title}</h4>
      {last.current && (
        <VersionList file={file} versions={last.current.versions} onDeleted={() => setRevision(revision + 1)} />
      )}
      {last.current?.cursor !== undefined && (
        <Button onClick={() => setCount(count * COUNT_FACTOR)}>{text.folder.showMore}</Button>
      )}
      {loaded.state === 'loading' && !last.current && <p role="status">{text.folder.loading}</p>}
      {loaded.state === 'failed' && (
        <div role="alert">
          <p>{`${text.versions.loadFailed} ${language.reasonOf(asServiceError(loaded.error))}`}</p>
          <Button onClick={loaded.retry}>{text.controls.retry}</Button>
        </div>
      )}
    </section>
  );
}

/** Reads pages until there are `count` versions, or no more. */
async function readVersions(
  service: Service,
  path: string,
  { count, signal }: { count: number; signal: AbortSignal },
): Promise<VersionPage> {
  let page = await listVersions(service, path, { limit: Math.min(count, MAX_PAGE), signal });
  while (page.cursor !== undefined && page.versions.length < count) {
    const next = await listVersions(service, path, { cursor: page.cursor, signal });
    page = { ...next, versions: [...page.versions, ...next.versions] };
  }
  return page;
}

/** The maximum number of versions in a page of the HTTP API. */
const MAX_PAGE = 1_000;

interface VersionListProps {
  file: FileEntry;
  versions: readonly FileVersion[];
  onDeleted: () => void;
}

function VersionList({ file, versions, onDeleted }: VersionListProps) {
  const { text } = useFullLanguage();
  const { trash } = useRetention();
  const permissions = usePermissions();
  const changes = useChanges();
  if (versions.length === 0) return <p class="secondary">{text.versions.none}</p>;
  // A store whose trash has no expiry, such as a branch, keeps all versions.
  const canDelete = trash?.days !== null && permissions.allowsIn(parentOf(file.path), 'manage');
  const remove = () =>
    void changes.perform(async ({ context }) => {
      const { name, path } = file;
      if (!(await context.prompts.confirmDeleteVersions(name))) return;
      if (!(await deleteEarlierVersions(context, path))) return;
      context.messages.show({ kind: 'done', text: text.versions.deleted({ name }) });
      onDeleted();
    });
  return (
    <>
      <ul>
        {versions.map((version) => (
          <Version key={version.id} file={file} version={version} />
        ))}
      </ul>
      {canDelete && <Button onClick={remove}>{text.versions.deleteAll}</Button>}
    </>
  );
}

function Version({ file, version }: { file: FileEntry; version: FileVersion }) {
  const { text, formats } = useFullLanguage();
  const time = new Date(version.modified ?? version.replacedAt);
  const more = text.versions.more({ time: formats.exactTime(time) });
  const items = useVersionItems(file, version);
  return (
    <li>
      <div>
        <time dateTime={time.toISOString()} title={formats.exactTime(time)}>
          {formats.time(time)}
        </time>
        <span class="secondary numbers">
          {formats.size(version.size)}
          {version.user !== undefined && (
            <>
              {' · '}
              <Name of={version.user} />
            </>
          )}
        </span>
        {version.message !== undefined && (
          <span class="secondary">
            <Name of={version.message} />
          </span>
        )}
      </div>
      <MenuButton icon="more" label={more} groups={() => [items]} />
    </li>
  );
}

function useVersionItems(file: FileEntry, { id }: FileVersion): readonly MenuItem[] {
  const urls = useUrls();
  const changes = useChanges();
  const permissions = usePermissions();
  const { text } = useFullLanguage();
  const folder = parentOf(file.path);
  const open: MenuItem = {
    id: 'open',
    icon: 'file',
    label: text.versions.open,
    run: () => void window.open(versionUrl(urls, file.path, id, false), '_blank', 'noopener'),
  };
  const download: MenuItem = {
    id: 'download',
    icon: 'download',
    label: text.actions.download,
    run: () => clickLink(versionUrl(urls, file.path, id, true)),
  };
  const restore: MenuItem = {
    id: 'restore',
    icon: 'undo',
    label: text.trash.restore,
    run: () => void changes.perform(({ context }) => restoreFileVersion(context, file, id)),
  };
  const mayRestore = permissions.allowsIn(folder, 'write') && permissions.allowsIn(folder, 'manage');
  return [open, download, ...(mayRestore ? [restore] : [])];
}
