import type { ComponentChildren } from 'preact';
import { Name } from '../../ui/name.tsx';
import { EntryIcon } from '../folder/entry-icon.tsx';
import { Thumbnail } from '../folder/thumbnail.tsx';
import { typeLabel } from '../folder/type-label.ts';
import { usePage } from '../page.ts';
import { nameOf, ROOT, splitName } from '../../platform/paths.ts';
import type { Entry, FileEntry } from '../../platform/service/service.ts';
import { folderName } from '../../platform/text/folder-name.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { CopyButton } from './copy-button.tsx';
import { ItemCount } from './item-count.tsx';

/** All details of one entry. */
export function EntryDetails({ entry }: { entry: Entry }) {
  return (
    <>
      <div class="picture">
        <Thumbnail entry={entry} />
      </div>
      <h3>
        <Name of={entry.name} />
      </h3>
      {entry.type === 'file' ? <FileFacts file={entry} /> : <FolderFacts path={entry.path} />}
    </>
  );
}

/** The details of a folder that may have no entry, such as the root. */
export function FolderDetails({ path }: { path: string }) {
  const { text } = useFullLanguage();
  const name = nameOf(path);
  return (
    <>
      <div class="picture">
        <EntryIcon entry={{ type: 'folder', name, path }} />
      </div>
      <h3>
        <Name of={folderName(path, text)} />
      </h3>
      <FolderFacts path={path} />
    </>
  );
}

/** The number of the entries and the total size of the files among them. */
export function SeveralDetails({ entries }: { entries: readonly Entry[] }) {
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
  const { urls } = usePage();
  const { text, formats } = useFullLanguage();
  const { details } = text;
  const modified = file.modified === null ? null : new Date(file.modified);
  return (
    <dl>
      <Fact name={text.folder.type}>
        {typeLabel(file.contentType, text, splitName(file.name).extension)}
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
  const { urls } = usePage();
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
      <Name of={path} />
    </Fact>
  );
}

function LinkFact({ name, url, label }: { name: string; url: string; label: string }) {
  return (
    <Fact name={name} button={<CopyButton label={label} value={url} />}>
      <a href={url} target="_blank" rel="noopener noreferrer">
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

function Fact({ name, children, button }: { name: string; children: ComponentChildren; button?: ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>
        <div>{children}</div>
        {button}
      </dd>
    </div>
  );
}
