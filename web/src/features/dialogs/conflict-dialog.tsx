import { useEffect, useState } from 'preact/hooks';
import type { Conflict, ConflictAnswer, ItemKind } from '../../model/prompts.ts';
import { isDisplayableImage } from '../../platform/file-kinds.ts';
import { parentOf } from '../../platform/paths.ts';
import { findEntry } from '../../platform/service/pages.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { EntryIcon, Thumbnail } from '../folder/thumbnail.tsx';
import { useFolder, useRetention, useService } from '../models.ts';
import './questions.css';

/** Asks what to do with an item whose name is taken. Resolves to null if the user cancels. */
export function askAboutConflict(dialogs: Dialogs, conflict: Conflict): Promise<ConflictAnswer | null> {
  return dialogs.open<ConflictAnswer>((close) => <ConflictDialog conflict={conflict} close={close} />);
}

interface ConflictDialogProps {
  conflict: Conflict;
  close: (answer: ConflictAnswer | null) => void;
}

function ConflictDialog({ conflict, close }: ConflictDialogProps) {
  const { name, folder, kinds, mayReplace } = conflict;
  const others = conflict.others();
  const { keepsVersions, trash } = useRetention();
  const service = useService();
  const { text } = useFullLanguage();
  const [forAll, setForAll] = useState(false);
  const [deletesVersions, setDeletesVersions] = useState(false);
  const answer = (decision: ConflictAnswer['decision']) => close({ decision, forAll });
  const isSameKind = kinds.incoming === kinds.existing;
  const canReplace = isSameKind && mayReplace;
  const hasVersions = keepsVersions && kinds.existing === 'file';
  // A store whose trash has no expiry, such as a branch, keeps all versions.
  const canDeleteVersions = canReplace && hasVersions && trash?.days !== null;
  const listing = useLoaded(async (signal) => {
    return canDeleteVersions ? service.list(folder, { limit: 1, signal }) : undefined;
  });
  const isPublic = listing.state === 'ready' && listing.value?.public === true;
  const keepsReplaced = hasVersions && !deletesVersions;
  const consequence = keepsReplaced ? text.conflicts.replacingVersion : text.conflicts.replacing[kinds.existing];
  const reason = isSameKind ? text.conflicts.replaceDenied : text.conflicts.otherKind[kinds.existing];

  return (
    <Dialog
      title={text.conflicts.title({ name, folder: folderName(folder, text) })}
      onClose={() => close(null)}
      onSubmit={() => answer('keep-both')}
      actions={
        <>
          <Button onClick={() => answer('skip')}>{text.conflicts.skip}</Button>
          {canReplace && (
            <Button onClick={() => answer(deletesVersions ? 'replace-with-versions' : 'replace')}>
              {text.conflicts.replace}
            </Button>
          )}
          <Button kind="primary" type="submit" autofocus>
            {text.conflicts.keepBoth}
          </Button>
        </>
      }
    >
      <div class="conflict-question">
        <ConflictItems conflict={conflict} />
        <p>{canReplace ? consequence : reason}</p>
        {isPublic && (
          <Checkbox label={text.conflicts.deleteVersions} isChecked={deletesVersions} onChange={setDeletesVersions} />
        )}
        {others > 0 && (
          <Checkbox label={text.conflicts.forAll({ count: others })} isChecked={forAll} onChange={setForAll} />
        )}
      </div>
    </Dialog>
  );
}

interface CheckboxProps {
  label: string;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
}

function Checkbox({ label, isChecked, onChange }: CheckboxProps) {
  return (
    <label>
      <input type="checkbox" checked={isChecked} onChange={({ currentTarget }) => onChange(currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

/** Shows the new item and the existing item, one below the other. */
function ConflictItems({ conflict: { name, folder, kinds, incoming } }: { conflict: Conflict }) {
  const shown = useFolder();
  const service = useService();
  const { text } = useFullLanguage();
  const path = `${folder}${name}${kinds.existing === 'folder' ? '/' : ''}`;
  const listed = shown.path.value === parentOf(path) ? shown.entryOf(path) : undefined;
  // Another user might just have created the item, so that the shown folder does not list it yet.
  const loaded = useLoaded(async (signal) => listed ?? (await findEntry(service, path, signal)));
  const existing = loaded.state === 'ready' ? loaded.value : listed;
  return (
    <ul>
      <ConflictItem label={text.conflicts.existing} kind={kinds.existing} item={existing} />
      <ConflictItem label={text.conflicts.incoming} kind={kinds.incoming} item={incoming} />
    </ul>
  );
}

interface ConflictItemProps {
  label: string;
  kind: ItemKind;
  item: File | Entry | undefined;
}

function ConflictItem({ label, kind, item }: ConflictItemProps) {
  const { text, formats } = useFullLanguage();
  const isFile = item !== undefined && 'size' in item;
  const time = item instanceof File ? item.lastModified : isFile ? item.modified : null;
  const facts = isFile ? [formats.size(item.size), time === null ? '' : formats.time(new Date(time))] : [];
  return (
    <li class="side">
      <span class="picture">
        {item instanceof File && <LocalThumbnail file={item} />}
        {!(item instanceof File) && <Thumbnail entry={item ?? unknownEntry(kind)} />}
      </span>
      <span class="label">{label}</span>
      <span class="facts numbers">{kind === 'folder' ? text.types.folder : facts.filter(Boolean).join(' · ')}</span>
    </li>
  );
}

/** The picture of a local file before its upload, otherwise its icon. */
function LocalThumbnail({ file }: { file: File }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    if (!isDisplayableImage(file)) return undefined;
    const created = URL.createObjectURL(file);
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [file]);
  if (url === null) return <EntryIcon entry={fileOfType(file.type)} />;
  return (
    <span class="thumbnail loaded">
      <img src={url} alt="" decoding="async" draggable={false} onError={() => setUrl(null)} />
    </span>
  );
}

/** Returns a placeholder entry for the icon of an item of which only the kind is known. */
const unknownEntry = (kind: ItemKind): Entry =>
  kind === 'folder' ? { type: 'folder', name: '', path: '/' } : fileOfType('');

const fileOfType = (contentType: string): Entry => ({
  type: 'file',
  name: '',
  path: '',
  size: 0,
  modified: null,
  contentType,
  etag: '',
});
