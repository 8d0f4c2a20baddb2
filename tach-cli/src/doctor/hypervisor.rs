//! The hypervisor's name, by what it tells the guest.

/// A name that CPUID reports (Linux, arch/x86/kernel/cpu/; systemd, src/basic/virt.c), and the
/// product.
const BY_CPUID: [(&[u8; 12], &str); 11] = [
    (b"KVMKVMKVM\0\0\0", "KVM"),
    (b"Linux KVM Hv", "KVM"),
    (HYPER_V, "Hyper-V"),
    (b"XenVMMXenVMM", "Xen"),
    (b"VMwareVMware", "VMware"),
    (b"TCGTCGTCGTCG", "QEMU without KVM"),
    (b"VBoxVBoxVBox", "VirtualBox"),
    (b"bhyve bhyve ", "bhyve"),
    (b"ACRNACRNACRN", "ACRN"),
    (b" lrpepyh  vr", "Parallels"),
    (b"SRESRESRESRE", "LMHS"),
];
const HYPER_V: &[u8; 12] = b"Microsoft Hv";

/// Firecracker's devices: its generation counter (`vmgenid.rs`), and the clock that it shares with
/// EC2's hosts (`vmclock.rs`).
const FIRECRACKER_ID: &str = "FCVMGID";
const AMAZON_CLOCK: &str = "AMZNC10C";
/// The maker of Firecracker's ACPI tables (`acpi-tables`), which only root reads.
const FIRECRACKER_TABLES: &str = "FIRECK";

/// What a guest can find out about its hypervisor.
#[derive(Debug, Clone, Default)]
pub(super) struct Clues {
    /// The CPU's statement that there is one.
    pub(super) is_declared: bool,
    /// The names that CPUID reports.
    pub(super) names: [Option<[u8; 12]>; 2],
    /// The kernel's statement (`/sys/hypervisor/type`), which only Xen and s390 make.
    pub(super) kernels: Option<String>,
    /// The device tree's statement, as on aarch64.
    pub(super) device_tree: Option<String>,
    /// The maker and the model of the machine (DMI).
    pub(super) machine: Option<String>,
    /// The names of the ACPI devices.
    pub(super) devices: Vec<String>,
    /// The maker of the ACPI tables, if this process may read them.
    pub(super) tables: Option<String>,
}

impl Clues {
    /// Returns the hypervisor's name, if there is one.
    ///
    /// Firecracker has no name of its own: it presents KVM's. Only its ACPI tables and devices, and
    /// the lack of DMI tables, which nearly every other monitor of KVM provides, tell it apart.
    pub(super) fn name(&self) -> Option<String> {
        let by_cpuid = self.by_cpuid();
        let by_kernel =
            self.kernels.as_deref().map(|kind| if kind == "xen" { "Xen" } else { kind });
        let by_tree = self.device_tree.as_deref().map(|kind| match kind {
            "linux,kvm" => "KVM",
            "xen,xen" => "Xen",
            kind => kind,
        });
        let by_machine = self.machine.as_deref().and_then(of_machine);
        match by_cpuid.or_else(|| by_kernel.or(by_tree).or(by_machine).map(str::to_owned)) {
            Some(name) if name == "KVM" => Some(format!("KVM{}", self.monitor())),
            Some(name) => Some(name),
            None if self.is_declared => {
                Some(self.machine.clone().unwrap_or_else(|| "unknown hypervisor".to_owned()))
            }
            None => None,
        }
    }

    fn by_cpuid(&self) -> Option<String> {
        let known = |name: &[u8; 12]| BY_CPUID.iter().find(|(known, _)| *known == name);
        let [first, second] = self.names;
        let first = first?;
        // Others imitate Hyper-V, so that Windows uses its interface.
        if let Some((_, product)) = second.as_ref().filter(|_| &first == HYPER_V).and_then(known) {
            return Some((*product).to_owned());
        }
        Some(known(&first).map_or_else(
            || format!("unknown hypervisor \"{}\"", text(&first)),
            |(_, product)| (*product).to_owned(),
        ))
    }

    /// Returns the monitor of a KVM guest, as an addition to the name.
    fn monitor(&self) -> &'static str {
        let has = |id: &str| self.devices.iter().any(|device| device.starts_with(id));
        if self.tables.as_deref() == Some(FIRECRACKER_TABLES) || has(FIRECRACKER_ID) {
            return ", Firecracker";
        }
        match &self.machine {
            Some(machine) if machine.starts_with("Amazon EC2") => ", EC2 Nitro",
            Some(machine) if machine.starts_with("Google") => ", Google Compute Engine",
            Some(machine) if machine.starts_with("QEMU") => ", QEMU",
            None if has(AMAZON_CLOCK) => ", probably Firecracker",
            Some(_) | None => "",
        }
    }
}

/// Returns the hypervisor that a machine's maker states, for CPUs without CPUID.
fn of_machine(machine: &str) -> Option<&'static str> {
    let makers = [
        ("QEMU", "KVM"),
        ("Amazon EC2", "KVM"),
        ("Google", "KVM"),
        ("KVM", "KVM"),
        ("Xen", "Xen"),
        ("VMware", "VMware"),
        ("Microsoft Corporation Virtual Machine", "Hyper-V"),
        ("innotek", "VirtualBox"),
        ("Parallels", "Parallels"),
    ];
    // The makers of real machines are others, except Amazon's and Google's own.
    let is_metal = machine.contains(".metal");
    let named = makers.iter().find(|(maker, _)| machine.starts_with(maker));
    named.filter(|_| !is_metal).map(|(_, name)| *name)
}

/// Returns a name of CPUID for people.
pub(super) fn text(name: &[u8; 12]) -> String {
    String::from_utf8_lossy(name).trim_end_matches('\0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KVM: Option<[u8; 12]> = Some(*b"KVMKVMKVM\0\0\0");

    fn named(first: Option<[u8; 12]>, second: Option<[u8; 12]>) -> Option<String> {
        Clues { names: [first, second], ..Clues::default() }.name()
    }

    fn kvm(change: impl FnOnce(&mut Clues)) -> String {
        let mut clues = Clues { names: [KVM, None], is_declared: true, ..Clues::default() };
        change(&mut clues);
        clues.name().unwrap()
    }

    #[test]
    fn cpuid_names_the_hypervisor() {
        for (name, product) in [
            (b"KVMKVMKVM\0\0\0", "KVM"),
            (b"Microsoft Hv", "Hyper-V"),
            (b"XenVMMXenVMM", "Xen"),
            (b"VMwareVMware", "VMware"),
            (b"VBoxVBoxVBox", "VirtualBox"),
            (b"New\0\0\0\0\0\0\0\0\0", "unknown hypervisor \"New\""),
        ] {
            assert_eq!(named(Some(*name), None).as_deref(), Some(product));
        }
        assert_eq!(named(None, None), None);
    }

    #[test]
    fn an_imitation_of_hyper_v_has_the_second_name() {
        assert_eq!(named(Some(*HYPER_V), KVM).as_deref(), Some("KVM"));
        assert_eq!(named(Some(*HYPER_V), Some(*b"XenVMMXenVMM")).as_deref(), Some("Xen"));
        assert_eq!(named(Some(*HYPER_V), Some(*b"????????????")).as_deref(), Some("Hyper-V"));
        // KVM imitates nobody, so another interface beside its own is not its name.
        assert_eq!(named(KVM, Some(*HYPER_V)).as_deref(), Some("KVM"));
    }

    #[test]
    fn firecracker_presents_kvms_name_and_has_tables_of_its_own() {
        assert_eq!(kvm(|_| ()), "KVM");
        let firecracker = "KVM, Firecracker";
        assert_eq!(kvm(|clues| clues.tables = Some("FIRECK".to_owned())), firecracker);
        assert_eq!(kvm(|clues| clues.devices.push("FCVMGID:00".to_owned())), firecracker);
        // Not root, and an older Firecracker: the clock is Amazon's, and EC2's hosts have DMI.
        let clock = |clues: &mut Clues| clues.devices.push("AMZNC10C:00".to_owned());
        assert_eq!(kvm(clock), "KVM, probably Firecracker");
        let on_ec2 = |clues: &mut Clues| {
            clock(clues);
            clues.machine = Some("Amazon EC2 m7i.large".to_owned());
        };
        assert_eq!(kvm(on_ec2), "KVM, EC2 Nitro");
        assert_eq!(kvm(|clues| clues.tables = Some("BOCHS ".to_owned())), "KVM");
        assert_eq!(kvm(|clues| clues.machine = Some("QEMU Standard PC".to_owned())), "KVM, QEMU");
    }

    #[test]
    fn without_cpuid_others_name_it() {
        let by = |change: fn(&mut Clues)| {
            let mut clues = Clues::default();
            change(&mut clues);
            clues.name()
        };
        assert_eq!(by(|clues| clues.kernels = Some("xen".to_owned())).as_deref(), Some("Xen"));
        let by_tree = by(|clues| clues.device_tree = Some("linux,kvm".to_owned()));
        assert_eq!(by_tree.as_deref(), Some("KVM"));
        let machine =
            |name: &str| Clues { machine: Some(name.to_owned()), ..Clues::default() }.name();
        assert_eq!(machine("Amazon EC2 m7g.large").as_deref(), Some("KVM, EC2 Nitro"));
        assert_eq!(machine("Amazon EC2 m7g.metal"), None);
        assert_eq!(machine("Dell Inc. PowerEdge"), None);
        let unknown = Clues { is_declared: true, ..Clues::default() };
        assert_eq!(unknown.name().as_deref(), Some("unknown hypervisor"));
    }
}
