import type { ComponentChildren } from 'preact';
import { nameOf } from '../../platform/paths.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { IconButton } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { rowKeys } from '../../ui/direction.ts';
import { Icon } from '../../ui/icon.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { useActions } from '../actions/actions.ts';
import { Name } from '../folder/entry-parts.tsx';
import { useDetails, usePreferences, useUrls } from '../models.ts';
import { useDownloadLink } from './download-link.ts';
import type { Gallery } from './gallery.ts';
import { EDIT_KEY, useEdit } from './use-edit.ts';
import type { ViewerState } from './viewer-tools.ts';

interface ViewerHeaderProps {
  path: string;
  gallery: Gallery;
  viewer: ViewerState;
  titleId: string;
  onShow: (file: FileEntry) => void;
  onClose: () => void;
}

/** The name of the shown file, and its buttons. On a phone, some buttons are below the file. */
export function ViewerHeader({ path, gallery, viewer, titleId, onShow, onClose }: ViewerHeaderProps) {
  const { text, formats } = useFullLanguage();
  const { entry, index, count } = gallery;
  return (
    <div class="top">
      <div class="heading">
        <IconButton icon="close" label={text.controls.close} shortcut={keyLabel('Escape')} onClick={onClose} />
        <div class="name">
          <h1 id={titleId} class="truncated-name" title={nameOf(path)}>
            <Name of={nameOf(path)} />
          </h1>
          <p class="numbers">
            {index >= 0 && <span class="position">{text.previews.position({ position: index + 1, count })}</span>}
            {entry && <span>{formats.size(entry.size)}</span>}
          </p>
        </div>
      </div>
      <div class="bar">
        <Steps gallery={gallery} onShow={onShow} />
        <Tools viewer={viewer} />
        {entry && <FileButtons entry={entry} />}
      </div>
    </div>
  );
}

function Steps({ gallery: { index, count, previous, next }, onShow }: Pick<ViewerHeaderProps, 'gallery' | 'onShow'>) {
  const { text } = useFullLanguage();
  const keys = rowKeys();
  const step = (icon: 'chevron-left' | 'chevron-right', label: string, key: string, file: FileEntry | undefined) => (
    <IconButton
      icon={icon}
      label={label}
      shortcut={keyLabel(key)}
      disabled={!file}
      onClick={() => file && onShow(file)}
    />
  );
  return (
    <Group>
      {step('chevron-left', text.previews.previous, keys.previous, previous)}
      <span class="position numbers" aria-hidden="true">
        {index >= 0 && text.previews.position({ position: index + 1, count })}
      </span>
      {step('chevron-right', text.previews.next, keys.next, next)}
    </Group>
  );
}

/** The tools of the preview. A component of its own, because they change with every step of a zoom. */
export function Tools({ viewer }: Pick<ViewerHeaderProps, 'viewer'>) {
  const { characterKeys } = usePreferences();
  const tools = viewer.tools.value;
  if (tools.length === 0) return null;
  return (
    <Group>
      {tools.map(
        ({ id, button, keys: [key], run }) =>
          button && (
            <IconButton
              key={id}
              {...button}
              shortcut={key && characterKeys.value ? keyLabel(key) : undefined}
              onClick={run}
            />
          ),
      )}
    </Group>
  );
}

function FileButtons({ entry }: { entry: FileEntry }) {
  const urls = useUrls();
  const details = useDetails();
  const { text } = useFullLanguage();
  const actions = useActions();
  // On a phone, the buttons are in one row without space for it. The details have it, too.
  const isNarrow = useMedia(NARROW);
  const action = actions.available('details');
  const edit = useEdit(entry);
  const { characterKeys } = usePreferences();
  return (
    <Group>
      {edit && (
        <IconButton
          icon="rename"
          label={text.actions.edit}
          shortcut={characterKeys.value ? keyLabel(EDIT_KEY) : undefined}
          onClick={edit}
        />
      )}
      {!isNarrow && actions.available('share') && (
        <IconButton icon="share" label={text.actions.share} onClick={() => actions.share(entry.path)} />
      )}
      <a
        class="icon-button"
        {...useDownloadLink(entry)}
        aria-label={text.actions.download}
        title={text.actions.download}
      >
        <Icon name="download" />
      </a>
      <CopyButton icon="link" label={text.actions.copyLink} value={urls.file(entry.path)} />
      <IconButton
        icon="details"
        label={text.actions.details}
        shortcut={action?.keys[0] && keyLabel(action.keys[0])}
        pressed={details.isOpen.value}
        onClick={() => action?.run()}
      />
    </Group>
  );
}

const Group = ({ children }: { children: ComponentChildren }) => <div class="group">{children}</div>;
