import { Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Dav } from '../../model/dav.ts';
import { hasThumbnail } from '../../platform/file-kinds.ts';
import { nameOf, parentOf, ROOT } from '../../platform/paths.ts';
import { pages } from '../../platform/service/pages.ts';
import type { Entry, FileEntry } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { useActions } from '../actions/actions.ts';
import { countLabel } from '../folder/count-label.ts';
import { Name } from '../folder/entry-parts.tsx';
import { EntryIcon, Thumbnail } from '../folder/thumbnail.tsx';
import { TypeName } from '../folder/type-name.tsx';
import { useDav, useFolder, usePermissions, useRetention, useService, useUrls, useVisit } from '../models.ts';
import { Fact } from './fact.tsx';

/** Shows all details of one entry. */
export function EntryDetails({ entry }: { entry: Entry }) {
  const { keepsVersions } = useRetention();
  const permissions = usePermissions();
  const hasVersions = keepsVersions && permissions.seesVersionsIn(parentOf(entry.path));
  return (
    <>
      <div class="picture">
        <Thumbnail entry={entry} />
      </div>
      <h3>
        <Name of={entry.name} />
      </h3>
      <ShareButton path={entry.path} />
      <LazyLockNotice path={entry.path} />
      {entry.type === 'file' ? <FileFacts file={entry} /> : <FolderFacts path={entry.path} />}
      {entry.type === 'file' && hasVersions && entry.etag !== '' && <LazyVersions file={entry} />}
      <LazyActivity path={entry.path} />
    </>
  );
}

/** Opens the links to a file or folder, if the user can share it. */
function ShareButton({ path }: { path: string }) {
  const actions = useActions();
  const { text } = useFullLanguage();
  if (!actions.available('share')) return null;
  return (
    <p class="share">
      <Button icon="share" onClick={() => actions.share(path)}>
        {text.actions.share}
      </Button>
    </p>
  );
}

/** Shows the lock of a file or folder once its code is loaded. Shows nothing if that fails. */
function LazyLockNotice({ path }: { path: string }) {
  const dav = useDav();
  return dav && dav.locks.value.length > 0 ? <LoadedLockNotice dav={dav} path={path} /> : null;
}

function LoadedLockNotice(props: { dav: Dav; path: string }) {
  const loaded = useLoaded(() => import('./lock-notice.tsx'));
  return loaded.state === 'ready' ? <loaded.value.LockNotice {...props} /> : null;
}

/** Shows the properties of a photo once their code is loaded. Shows nothing if that fails. */
function LazyPhotoFacts({ file }: { file: FileEntry }) {
  const loaded = useLoaded(() => import('./photo-facts.tsx'));
  return loaded.state === 'ready' ? <loaded.value.PhotoFacts file={file} /> : null;
}

/** Shows the versions of a file once their code is loaded. Shows nothing if that fails. */
function LazyVersions({ file }: { file: FileEntry }) {
  const loaded = useLoaded(() => import('./versions.tsx'));
  return loaded.state === 'ready' ? <loaded.value.Versions file={file} /> : null;
}

/** Shows the activity of a file or folder to users once its code is loaded. Shows nothing if that fails. */
function LazyActivity({ path }: { path: string }) {
  return useVisit() ? null : <LoadedActivity path={path} />;
}

function LoadedActivity({ path }: { path: string }) {
  const loaded = useLoaded(() => import('./activity.tsx'));
  return loaded.state === 'ready' ? <loaded.value.Activity path={path} /> : null;
}

/** Shows the details of a folder that might have no entry, such as the root. */
export function FolderDetails({ path }: { path: string }) {
  const language = useFullLanguage();
  const { text } = language;
  const name = nameOf(path);
  return (
    <>
      <div class="picture">
        <EntryIcon entry={{ type: 'folder', name, path }} />
      </div>
      <h3>
        <Name of={folderName(path, text)} />
      </h3>
      <ShareButton path={path} />
      <LazyLockNotice path={path} />
      <FolderFacts path={path} />
      <LazyActivity path={path} />
    </>
  );
}

/** Shows the number of the entries and the total size of the files among them. */
export function MultipleDetails({ entries }: { entries: readonly Entry[] }) {
  const { text, formats } = useFullLanguage();
  const files = entries.filter(({ type }) => type === 'file');
  const isWhole = files.length === entries.length;
  const size = files.reduce((sum, file) => sum + (file.type === 'file' ? file.size : 0), 0);
  return (
    <>
      <h3>{text.shell.selected({ count: entries.length })}</h3>
      <dl>
        <Fact name={text.details.folders}>{formats.number(entries.length - files.length)}</Fact>
        <Fact name={text.details.files}>{formats.number(files.length)}</Fact>
        {files.length > 0 && (
          <Fact name={isWhole ? text.details.totalSize : text.details.filesSize}>
            <Size bytes={size} />
            {!isWhole && <span class="secondary">{text.details.withoutFolders}</span>}
          </Fact>
        )}
      </dl>
    </>
  );
}

function FileFacts({ file }: { file: FileEntry }) {
  const urls = useUrls();
  const { text, formats } = useFullLanguage();
  const { details } = text;
  const modified = file.modified === null ? null : new Date(file.modified);
  return (
    <dl>
      <Fact name={text.folder.type}>
        <TypeName entry={file} />
        <span class="secondary">{file.contentType}</span>
      </Fact>
      <Fact name={text.folder.size}>
        <Size bytes={file.size} />
      </Fact>
      <Fact name={text.folder.modified}>
        {modified ? (
          <time dateTime={modified.toISOString()}>{formats.exactTime(modified)}</time>
        ) : (
          text.folder.unknownTime
        )}
      </Fact>
      {hasThumbnail(file) && file.etag !== '' && <LazyPhotoFacts file={file} />}
      <PathFact path={file.path} />
      <LinkFact name={details.link} url={urls.file(file.path)} label={details.copyLink} />
      {file.publicUrl !== undefined && (
        <LinkFact name={details.publicLink} url={file.publicUrl} label={details.copyPublicLink} />
      )}
      {file.etag !== '' && (
        <Fact name={details.etag}>
          <code>{file.etag}</code>
        </Fact>
      )}
    </dl>
  );
}

function FolderFacts({ path }: { path: string }) {
  const urls = useUrls();
  const { text } = useFullLanguage();
  return (
    <dl>
      <Fact name={text.folder.type}>{text.types.folder}</Fact>
      <Fact name={text.details.contains}>
        <ItemCount key={path} folder={path} />
      </Fact>
      {path !== ROOT && <PathFact path={path} />}
      <LinkFact name={text.details.link} url={urls.page(path)} label={text.details.copyLink} />
    </dl>
  );
}

function PathFact({ path }: { path: string }) {
  const { details } = useFullLanguage().text;
  return (
    <Fact name={details.path} button={<CopyButton label={details.copyPath} value={path} />}>
      <PathName of={path} />
    </Fact>
  );
}

/** A path from left to right. Each name in it has its own direction. */
function PathName({ of }: { of: string }) {
  return (
    <bdi dir="ltr">
      {of.split('/').map((name, index) => (
        <Fragment key={index}>
          {index > 0 && '/'}
          {name !== '' && <Name of={name} />}
        </Fragment>
      ))}
    </bdi>
  );
}

function LinkFact({ name, url, label }: { name: string; url: string; label: string }) {
  return (
    <Fact name={name} button={<CopyButton label={label} value={url} />}>
      <a class="address" href={url} title={url} target="_blank" rel="noopener noreferrer" dir="ltr">
        {url}
      </a>
    </Fact>
  );
}

function Size({ bytes }: { bytes: number }) {
  const { formats } = useFullLanguage();
  return (
    <span class="numbers">
      {formats.size(bytes)}
      {bytes >= 1000 && <span class="secondary">{formats.exactSize(bytes)}</span>}
    </span>
  );
}

/** Shows the number of items in a folder. A folder other than the shown one is counted when the user asks for it. */
function ItemCount({ folder: path }: { folder: string }) {
  const folder = useFolder();
  const { text } = useFullLanguage();
  const isKnown = folder.path.value === path && folder.state.value === 'ready';
  if (!isKnown) return <CountedItems folder={path} />;
  return <span class="numbers">{countLabel(folder, text)}</span>;
}

type Counting =
  | { readonly state: 'unasked' }
  | { readonly state: 'counting' | 'counted'; readonly count: number }
  | { readonly state: 'failed'; readonly problem: ServiceError };

function CountedItems({ folder }: { folder: string }) {
  const service = useService();
  const language = useFullLanguage();
  const { text } = language;
  const [counting, setCounting] = useState<Counting>({ state: 'unasked' });
  const isCounting = counting.state === 'counting';

  useEffect(() => {
    if (!isCounting) return undefined;
    const aborting = new AbortController();
    const count = async () => {
      let items = 0;
      for await (const { entries, cursor } of pages(service, folder, aborting.signal)) {
        items += entries.length;
        setCounting({ state: cursor === undefined ? 'counted' : 'counting', count: items });
      }
    };
    count().catch((error: unknown) => {
      if (!isAbort(error)) setCounting({ state: 'failed', problem: asServiceError(error) });
    });
    return () => aborting.abort();
  }, [isCounting, folder]);

  const start = () => setCounting({ state: 'counting', count: 0 });
  return (
    <span role="status">
      {counting.state === 'unasked' && <Button onClick={start}>{text.details.count}</Button>}
      {counting.state === 'counting' && text.folder.loadingMore({ count: counting.count })}
      {counting.state === 'counted' && text.folder.items({ count: counting.count })}
      {counting.state === 'failed' && (
        <>
          <p>{language.reasonOf(counting.problem)}</p>
          <Button onClick={start}>{text.controls.retry}</Button>
        </>
      )}
    </span>
  );
}
