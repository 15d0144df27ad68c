import { Icon } from '../controls/icon.tsx';
import { useLanguage, usePage } from '../page.ts';
import { folderName } from '../text/folder-name.ts';
import type { Text } from '../text/language.ts';
import type { Dragging } from './dragging.ts';
import './drop-hint.css';

/** Says where what is being dragged would go. */
export function DropHint() {
  const { dragging, rights } = usePage();
  const { text } = useLanguage();
  if (dragging.what.value === null) return null;
  if (rights.isReadOnly) return <Hint icon="warning" words={text.dragging.readOnly} />;
  const isFreeHere = dragging.target.value !== null || rights.may('write');
  if (!isFreeHere && dragging.what.value === 'files') return <Hint icon="warning" words={text.dragging.mayNotAdd} />;
  const words = wordsOf(dragging, text);
  if (words === '') return null;
  const isUpload = dragging.what.value === 'files';
  return <Hint icon={isUpload ? 'upload' : dragging.isCopy.value ? 'copy' : 'move'} words={words} />;
}

function Hint({ icon, words }: { icon: 'warning' | 'upload' | 'copy' | 'move'; words: string }) {
  return (
    <div class="drop-hint">
      <p>
        <Icon name={icon} />
        <span>{words}</span>
      </p>
    </div>
  );
}

function wordsOf({ what, target, count, isCopy }: Dragging, text: Text): string {
  const { dragging } = text;
  const folder = target.value;
  if (folder === null) return what.value === 'files' ? dragging.dropHere : '';
  const name = folderName(folder, text);
  if (what.value === 'files') return dragging.drop(name);
  return isCopy.value ? dragging.copy(count.value, name) : dragging.move(count.value, name);
}
