/** Where a disk can be full. */
export type Storage = "database" | "files" | "local disk";

/** So long after the last write that found no room a disk counts as full, in milliseconds. */
const fullForMs = 5 * 60 * 1000;

const lastFull = new Map<Storage, number>();

/** Notes that a write failed because there was no room. */
export function noteDiskFull(storage: Storage): void {
  lastFull.set(storage, Date.now());
}

/** When a write last found no room, where that is not long ago. */
export function diskFullAt(storage: Storage): Date | undefined {
  const at = lastFull.get(storage);
  return at !== undefined && Date.now() - at < fullForMs ? new Date(at) : undefined;
}

/** Whether the operating system or a message of it says that there is no room, or none within a quota. */
export function isNoSpace(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  return (
    code === "ENOSPC" ||
    code === "EDQUOT" ||
    /No space left on device|Disk quota exceeded|\bENOSPC\b/.test(String(message)) ||
    (cause !== undefined && isNoSpace(cause))
  );
}

/** Notes a full disk of this machine where an error is of that: errors of other systems have no system call. */
export function noteLocalDisk(error: unknown): boolean {
  const isLocal = error instanceof Error && "syscall" in error && isNoSpace(error);
  if (isLocal) noteDiskFull("local disk");
  return isLocal;
}
