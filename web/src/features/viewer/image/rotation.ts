import { useEffect, useRef, useState } from 'preact/hooks';
import { reportLoadFailure } from '../../../model/messages.ts';
import { mediaTypeOf } from '../../../platform/file-kinds.ts';
import { parentOf } from '../../../platform/paths.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import { useLanguageSignal } from '../../../platform/text/language.ts';
import { useChanges, useMessages, usePermissions, useVisit } from '../../models.ts';

/** The rotation of a photo that its stored file does not have yet. */
export interface Rotation {
  /** Quarter turns clockwise. */
  readonly turns: number;
  /** Undefined if the user can't rotate the photo. */
  readonly turn: ((by: 1 | -1) => void) | undefined;
  /** Whether the user could rotate a file of another format. */
  readonly isUnsupported: boolean;
  /** Call when the picture of the rotated file replaces the one before. */
  readonly settle: () => void;
}

/** Milliseconds after a turn in which further turns become part of the same change. */
const DELAY_MS = 700;

/**
 * Rotates a JPEG by its orientation tag, without loss of quality. Browsers don't agree on such tags in other formats. The picture
 * turns at once, and the file is stored a moment later.
 */
export function useRotation(entry: FileEntry): Rotation {
  const changes = useChanges();
  const permissions = usePermissions();
  const messages = useMessages();
  const language = useLanguageSignal();
  const visit = useVisit();
  const [turns, setTurns] = useState(0);
  const pending = useRef({
    turns: 0,
    stored: 0,
    isStoring: false,
    entry,
    timer: undefined as ReturnType<typeof setTimeout> | undefined,
  });
  const { current } = pending;
  current.entry = entry;

  const add = (by: number) => setTurns((before) => before + by);
  const store = async (): Promise<void> => {
    const by = current.turns % 4;
    if (current.isStoring) return;
    if (by === 0) {
      current.turns = 0;
      return;
    }
    current.turns = 0;
    current.isStoring = true;
    let isStored = false;
    try {
      const { rotatePhoto } = await import('../../../model/changes/rotate-photo.ts');
      await changes.perform(async ({ context }) => {
        isStored = await rotatePhoto(context, current.entry, by);
      });
    } catch {
      await reportLoadFailure({ messages, language });
    }
    current.isStoring = false;
    if (isStored) current.stored += by;
    else add(-by);
    if (current.turns !== 0) await store();
  };
  const turn = (by: 1 | -1) => {
    add(by);
    current.turns += by;
    clearTimeout(current.timer);
    current.timer = setTimeout(() => void store(), DELAY_MS);
  };
  // The user can show the next photo before the file is stored.
  useEffect(
    () => () => {
      clearTimeout(current.timer);
      void store();
    },
    [],
  );

  const mayChange = !visit && permissions.allowsIn(parentOf(entry.path), 'manage');
  const isJpeg = /^image\/(p?jpeg|jpg)$/.test(mediaTypeOf(entry.contentType));
  return {
    turns,
    turn: mayChange && isJpeg ? turn : undefined,
    isUnsupported: mayChange && !isJpeg,
    settle() {
      add(-current.stored);
      current.stored = 0;
    },
  };
}
