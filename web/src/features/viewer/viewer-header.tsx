import { nameOf } from '../../platform/paths.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { IconButton } from '../../ui/button.tsx';
import { rowKeys } from '../../ui/direction.ts';
import { Icon } from '../../ui/icon.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { MenuButton, type MenuItem } from '../../ui/menus.tsx';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { Name } from '../folder/entry-parts.tsx';
import { NameField } from '../folder/lazy-name-field.ts';
import { useChanges, useDetails, usePreferences } from '../models.ts';
import type { FileAction } from './culling.ts';
import { useDownloadLink } from './download-link.ts';
import type { Gallery } from './gallery.ts';
import { Group, ToolGroup, Tools } from './tool-group.tsx';
import { EDIT_KEY, useEdit } from './use-edit.ts';
import type { ViewerState, ViewerTool } from './viewer-tools.ts';

interface ViewerHeaderProps {
  path: string;
  gallery: Gallery;
  viewer: ViewerState;
  /** The tools that do not depend on the kind of file. */
  viewTools: readonly ViewerTool[];
  titleId: string;
  /** Whether the file is a photo or a video. */
  isDark: boolean;
  /** Whether the header has the buttons for the previous and the next file. */
  hasSteps: boolean;
  actions: () => readonly FileAction[];
  onShow: (file: FileEntry) => void;
  onClose: () => void;
}

/** The name of the shown file, and its buttons. On a phone, some buttons are below the file. */
export function ViewerHeader(props: ViewerHeaderProps) {
  const { path, gallery, viewer, viewTools, titleId, isDark, hasSteps, actions, onShow, onClose } = props;
  const { text, formats } = useFullLanguage();
  const { entry, index, count } = gallery;
  const isNarrow = useMedia(NARROW);
  // On a phone, two fingers zoom. The menu has the buttons.
  const hasTools = !isNarrow || !isDark;
  return (
    <div class="top">
      <div class="heading">
        <IconButton icon="close" label={text.controls.close} shortcut={keyLabel('Escape')} onClick={onClose} />
        <div class="name">
          <Title {...{ path, entry, titleId }} />
          <p class="numbers">
            {index >= 0 && (
              <span class={hasSteps ? 'position' : ''}>{text.previews.position({ position: index + 1, count })}</span>
            )}
            {entry && <span>{formats.size(entry.size)}</span>}
          </p>
        </div>
      </div>
      <div class="bar">
        {hasSteps && <Steps gallery={gallery} onShow={onShow} />}
        {hasTools && <Tools viewer={viewer} />}
        {!isNarrow && <ToolGroup tools={viewTools} />}
        {entry && <FileButtons {...{ entry, actions, isNarrow }} />}
        {entry && (
          <MoreButton
            {...{ viewer, actions, isNarrow }}
            tools={isNarrow ? viewTools : []}
            hasPreviewTools={!hasTools}
          />
        )}
      </div>
    </div>
  );
}

/** The name of the file, or the field that renames it. */
function Title({
  path,
  entry,
  titleId,
}: Pick<ViewerHeaderProps, 'path' | 'titleId'> & { entry: FileEntry | undefined }) {
  const { renaming } = useChanges();
  const isRenamed = entry !== undefined && renaming.value === entry.path;
  return (
    <>
      <h1 id={titleId} class={isRenamed ? 'visually-hidden' : 'truncated-name'} title={nameOf(path)}>
        <Name of={nameOf(path)} />
      </h1>
      {isRenamed && <NameField entry={entry} />}
    </>
  );
}

type StepProps = Pick<ViewerHeaderProps, 'gallery' | 'onShow'>;

function Steps({ gallery, onShow }: StepProps) {
  const { text } = useFullLanguage();
  const { index, count } = gallery;
  return (
    <Group>
      <Step to="previous" {...{ gallery, onShow }} />
      <span class="position numbers" aria-hidden="true">
        {index >= 0 && text.previews.position({ position: index + 1, count })}
      </span>
      <Step to="next" {...{ gallery, onShow }} />
    </Group>
  );
}

/** The buttons for the previous and the next file at the sides of the stage. */
export function SideSteps({ gallery, onShow }: StepProps) {
  return (
    <>
      <div class="side-step previous">
        <Step to="previous" {...{ gallery, onShow }} />
      </div>
      <div class="side-step next">
        <Step to="next" {...{ gallery, onShow }} />
      </div>
    </>
  );
}

function Step({ to, gallery, onShow }: StepProps & { to: 'previous' | 'next' }) {
  const { text } = useFullLanguage();
  const file = gallery[to];
  return (
    <IconButton
      icon={to === 'next' ? 'chevron-right' : 'chevron-left'}
      label={text.previews[to]}
      shortcut={keyLabel(rowKeys()[to])}
      disabled={!file}
      onClick={() => file && onShow(file)}
    />
  );
}

interface FileButtonsProps {
  entry: FileEntry;
  actions: () => readonly FileAction[];
  isNarrow: boolean;
}

/** The actions with buttons. The menu has the others. */
function FileButtons({ entry, actions, isNarrow }: FileButtonsProps) {
  const details = useDetails();
  const edit = useEdit(entry);
  const { characterKeys } = usePreferences();
  const { text } = useFullLanguage();
  const available = actions();
  const button = (...ids: readonly FileAction['id'][]) => {
    const action = available.find(({ id }) => ids.includes(id));
    if (!action) return null;
    const shortcut = action.keys[0] && keyLabel(action.keys[0]);
    const pressed = action.id === 'details' ? { pressed: details.isOpen.value } : {};
    return (
      <IconButton
        icon={action.icon}
        label={text.actions[action.id]}
        shortcut={shortcut}
        {...pressed}
        onClick={action.run}
      />
    );
  };
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
      {!isNarrow && button('share')}
      <a
        class="icon-button"
        {...useDownloadLink(entry)}
        aria-label={text.actions.download}
        title={text.actions.download}
      >
        <Icon name="download" />
      </a>
      {button('delete', 'moveToTrash')}
      {button('details')}
    </Group>
  );
}

interface MoreButtonProps {
  viewer: ViewerState;
  actions: () => readonly FileAction[];
  /** Tools without buttons. */
  tools: readonly ViewerTool[];
  hasPreviewTools: boolean;
  isNarrow: boolean;
}

/** The actions that have buttons in wide windows. */
const WITH_BUTTONS: readonly FileAction['id'][] = ['share', 'download', 'delete', 'moveToTrash', 'details'];

/** The menu of the remaining actions. */
function MoreButton({ viewer, actions, tools, hasPreviewTools, isNarrow }: MoreButtonProps) {
  const { text } = useFullLanguage();
  const { characterKeys } = usePreferences();
  const groups = () => {
    const toolItems = [...(hasPreviewTools ? viewer.tools.peek() : []), ...tools].flatMap((tool) =>
      tool.button ? [toolItem(tool, characterKeys.peek())] : [],
    );
    const shown = actions().filter(({ id }) => isNarrow || !WITH_BUTTONS.includes(id));
    const items = shown.map(({ id, icon, keys, isDangerous = false, run, group }) => ({
      item: { id, icon, isDangerous, label: text.actions[id], keys: keys[0], run },
      group,
    }));
    const inGroup = (group: FileAction['group']) =>
      items.filter((item) => item.group === group).map(({ item }) => item);
    return [toolItems, inGroup('open'), inGroup('change'), inGroup('clipboard')].filter((group) => group.length > 0);
  };
  return <MenuButton label={text.controls.more} icon="more" groups={groups} />;
}

function toolItem({ id, button, keys: [key], run }: ViewerTool, hasKey: boolean): MenuItem {
  const { icon, label = '', disabled = false } = button ?? {};
  return { id, icon, label, isDisabled: disabled, keys: hasKey ? key : undefined, run };
}
